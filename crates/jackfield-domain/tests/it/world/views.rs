//! Views of worlds: what a client is shown of a turn, live and later, and where its next requests belong.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jackfield_domain::accumulator::ReplyAccumulator;
use jackfield_domain::block::{Block, Content, RanBy};
use jackfield_domain::client_view::{self, ClientEvent, ClientView, Gather, SegmentEnd};
use jackfield_domain::cursor::Cursor;
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::fact::{Envelope, Fact};
use jackfield_domain::ids::{ModelAttempt, ToolCallId};
use jackfield_domain::locate;
use jackfield_domain::message::{Message, Role};
use jackfield_domain::outcome::ToolOutcome;
use jackfield_domain::reply::FinishReason;
use jackfield_domain::session_events::{EventStream, SessionEvent};
use jackfield_domain::tool_input::JsonInput;
use jackfield_domain::usage::Usage;

use super::{Class, Property, World};

mod requests;
mod segments;

use self::segments::Bounds;

/// What could be watched, in its order.
#[derive(Clone, Debug)]
pub(crate) enum Watched {
    /// The process died, and what it had heard with it.
    Crash,
    /// A piece of the reply under way.
    Delta(ModelAttempt, Delta),
    /// A step was committed.
    Step(Envelope),
}

/// What a client was shown of a segment.
#[derive(Clone, Debug, PartialEq)]
struct View {
    end: Option<SegmentEnd>,
    pieces: Vec<(Option<ToolCallId>, Delta)>,
}

impl World {
    /// Whatever a client looks at, and whenever, it is shown the same; and what it sends next is found.
    pub(super) fn check_views(&mut self) {
        let caller = self.setup.caller.as_ref();
        let keeps_it = caller.is_some_and(|caller| caller.view.is_some());
        let mut history = vec![Message::user("do it")];
        let mut used = Usage::default();
        let mut kept = true;
        for (segment, bounds) in (0..).zip(self.segments()) {
            let later = self.view(segment, usize::MAX);
            self.check_live(segment, &later);
            self.check_pieces(&later, &bounds);
            match &later.end {
                Some(SegmentEnd::Whole(end)) => used += end.usage.unwrap_or_default(),
                Some(SegmentEnd::BrokenOff(_) | SegmentEnd::Failed(_)) => kept = false,
                None => self.violate(Property::ViewsAreTheSame, "no end".to_owned()),
            }
            history.push(self.kept(&later, &bounds));
            if segment > 0 {
                self.classes.insert(Class::SecondSegment);
            }
            if let Some(results) = bounds.brought.filter(|_| keeps_it) {
                let tool = |results: &[Arc<ToolOutcome>]| {
                    let blocks = results
                        .iter()
                        .map(|outcome| Block::from(Content::ToolOutcome(Arc::clone(outcome))));
                    Message::new(Role::Tool, blocks.collect())
                };
                if let Some(early) = bounds.early {
                    let mut asks = history.clone();
                    asks.push(tool(&early));
                    self.check_answer(&asks, bounds.steps);
                }
                history.push(tool(&results));
                if !results.is_empty() {
                    let is_last = segment as usize + 2 == self.segments().len();
                    self.check_again(&history, segment + 1, is_last);
                }
            }
        }
        if !keeps_it {
            return;
        }
        let recorded = self.committed.iter().find_map(|fact| match fact {
            Fact::TurnEnded { view, .. } => Some(*view),
            _ => None,
        });
        let sent = locate::chain(&history);
        let said = sent.last().copied().filter(|last| *last != sent[0]);
        if recorded != Some(said) {
            let detail = format!("{recorded:?} is not {said:?} of {history:#?}");
            self.violate(Property::ViewsAreWhatIsKept, detail);
        }
        let replies = self.committed.iter().filter_map(|fact| match fact {
            Fact::ReplyReceived { reply, .. } => reply.end.usage,
            _ => None,
        });
        let mut all = Usage::default();
        replies.for_each(|usage| all += usage);
        if kept && used != all {
            let detail = format!("{used:?} of {all:?}");
            self.violate(Property::ViewsAreWhatIsKept, detail);
        }
        if said.is_some() {
            self.check_next(&history);
        }
    }

    /// The segment, as it is shown to somebody who looks whenever so many things have happened.
    fn view(&self, segment: u32, every: usize) -> View {
        let turn = self.machine.turn().id().clone();
        let mut teller = EventStream::new(Cursor::START);
        let mut viewer = ClientView::new(turn.clone(), segment);
        let mut view = View {
            end: None,
            pieces: Vec::new(),
        };
        let mut see = |told: &SessionEvent| {
            for shown in viewer.apply(told) {
                assert_eq!(view.end, None, "something is shown behind the end");
                match shown {
                    ClientEvent::Retried(_) => {}
                    ClientEvent::End(end) => view.end = Some(end),
                    ClientEvent::Piece { call, delta } => add(&mut view.pieces, call, delta),
                }
            }
        };
        let mut facts = 0;
        let mut speech: Option<(u64, ReplyAccumulator)> = None;
        for (nth, watched) in (1..).zip(&self.watched) {
            match watched {
                Watched::Crash => speech = None,
                Watched::Delta(attempt, delta) => {
                    if let Some((_, reply)) = &mut speech
                        && reply.attempt() == *attempt
                    {
                        let _taken = reply.push(delta);
                    }
                }
                Watched::Step(step) => {
                    for fact in &step.facts {
                        facts += 1;
                        match fact {
                            Fact::ModelCallStarted { attempt, .. } => {
                                let reply = ReplyAccumulator::new(turn.clone(), *attempt);
                                speech = Some((facts, reply));
                            }
                            Fact::ModelCallEnded { .. } | Fact::ReplyReceived { .. } => {
                                speech = None;
                            }
                            _ => {}
                        }
                    }
                    teller.feed(step.clone());
                }
            }
            if nth % every == 0 {
                while let Some((_, told)) = teller.next() {
                    see(&told);
                }
                if let Some((facts, reply)) = &speech {
                    while let Some((_, told)) = teller.next_live_piece(*facts, reply) {
                        see(&told);
                    }
                }
            }
        }
        while let Some((_, told)) = teller.next() {
            see(&told);
        }
        view
    }

    /// Live and later are the same, however often somebody looks.
    fn check_live(&mut self, segment: u32, later: &View) {
        for every in [1, 3] {
            let live = self.view(segment, every);
            let superseded = matches!(&live.end, Some(SegmentEnd::BrokenOff(_)));
            let same = if live.end != later.end {
                // What was shown was begun again, and could not be taken back.
                self.classes.insert(Class::ViewBrokenOff);
                superseded && !live.pieces.is_empty()
            } else if matches!(live.end, Some(SegmentEnd::Whole(_))) {
                live == *later
            } else {
                // What a process had heard that died is in no fact.
                let crashed = self
                    .watched
                    .iter()
                    .any(|seen| matches!(seen, Watched::Crash));
                let (live, later) = (words(&live), words(later));
                live == later || crashed && live.starts_with(&later)
            };
            if !same {
                let detail = format!("every {every}: {live:#?}\nis not {later:#?}");
                self.violate(Property::ViewsAreTheSame, detail);
            }
        }
        let turn = self.machine.turn().id().clone();
        let whole = client_view::reply(&self.steps, &turn, segment);
        let same = match (&later.end, &whole) {
            (Some(SegmentEnd::Whole(end)), Some(Ok(reply))) => {
                reply.end == *end && *reply.message == gathered(later)
            }
            (Some(SegmentEnd::Failed(end)), Some(Err(failed))) => end == failed,
            _ => false,
        };
        if !same {
            let detail = format!("{whole:#?}\nis not {later:#?}");
            self.violate(Property::ViewsAreTheSame, detail);
        }
    }

    /// A client is handed the calls that it is to run, and no others.
    fn check_pieces(&mut self, view: &View, bounds: &Bounds) {
        let mut handed = BTreeSet::new();
        let mut ours: BTreeSet<ToolCallId> = BTreeSet::new();
        let mut outcomes = Vec::new();
        let mut next = 0;
        let mut open: BTreeMap<u32, (ToolCallId, String)> = BTreeMap::new();
        let mut whole = BTreeSet::new();
        let mut unreadable = BTreeSet::new();
        for (call, delta) in &view.pieces {
            match delta {
                Delta::ArgumentsAppended { index, text } => {
                    if let Some((_, arguments)) = open.get_mut(index) {
                        arguments.push_str(text);
                    }
                }
                Delta::BlockEnded { index } => {
                    if let Some((call, arguments)) = open.remove(index) {
                        if JsonInput::parse(&arguments).object().is_err() {
                            unreadable.insert(call.clone());
                        }
                        whole.insert(call);
                    }
                }
                _ => {}
            }
            let Delta::BlockStarted { index, start } = delta else {
                continue;
            };
            let detail = format!("{call:?} in {view:#?}");
            if *index != next {
                self.violate(Property::ViewsAreTheSame, detail.clone());
            }
            next += 1;
            match (start, call) {
                (BlockStart::ToolCall { ran_by, .. }, Some(call)) => match ran_by {
                    RanBy::Client => {
                        handed.insert(call.clone());
                        open.insert(*index, (call.clone(), String::new()));
                    }
                    RanBy::Provider => _ = ours.insert(call.clone()),
                    RanBy::Engine => self.violate(Property::ViewsAreTheSame, detail),
                },
                (BlockStart::ToolCall { .. }, None) => {
                    self.violate(Property::ViewsAreTheSame, detail);
                }
                (BlockStart::Whole(Content::ToolOutcome(outcome)), _) => {
                    outcomes.push(outcome.call.clone());
                }
                _ => {}
            }
        }
        let caller = self.setup.caller.as_ref().expect("a caller");
        let shown = caller.display.server_tools;
        if !outcomes.is_empty() {
            self.classes.insert(Class::ServerCallShown);
        }
        let finish = match &view.end {
            Some(SegmentEnd::Whole(end)) => Some(end.finish == FinishReason::ToolCalls),
            Some(SegmentEnd::BrokenOff(_) | SegmentEnd::Failed(_)) | None => None,
        };
        let in_vain = handed.difference(&bounds.asked).count() > 0;
        // A reply that was cut off or refused ends with the calls in it as they are.
        let breaks_off = match &view.end {
            Some(SegmentEnd::Whole(end)) => matches!(
                end.finish,
                FinishReason::ContentFilter
                    | FinishReason::ContextFull
                    | FinishReason::Length
                    | FinishReason::Refused
            ),
            Some(SegmentEnd::BrokenOff(_) | SegmentEnd::Failed(_)) | None => true,
        };
        let is_told_whole = unreadable.is_empty() || finish == Some(false);
        if caller.display.calls_as_written && !handed.is_empty() {
            self.classes.insert(Class::CallShownAsWritten);
        }
        if in_vain {
            self.classes.insert(Class::CallShownInVain);
        }
        let is_right = bounds.asked.is_subset(&whole)
            && whole.is_subset(&handed)
            && is_told_whole
            && (!in_vain || caller.display.calls_as_written && breaks_off)
            && (shown || ours.is_empty() && outcomes.is_empty())
            && finish.is_none_or(|handed_over| handed_over == bounds.is_handed_over);
        if !is_right {
            let detail = format!("{bounds:?} is shown as {view:#?}");
            self.violate(Property::ViewsAreTheSame, detail);
        }
    }

    /// What a client keeps of a reply, whole or broken off.
    fn kept(&self, view: &View, bounds: &Bounds) -> Message {
        let mut message = gathered(view);
        // What it was shown and is not to run, it does not keep.
        message.blocks.retain(|block| match &block.content {
            Content::ToolCall(call) if call.ran_by == RanBy::Client => {
                bounds.asked.contains(&call.id)
            }
            _ => true,
        });
        message
    }
}

/// Pieces of one text are one piece.
fn add(pieces: &mut Vec<(Option<ToolCallId>, Delta)>, call: Option<ToolCallId>, delta: Delta) {
    match (pieces.last_mut(), &delta) {
        (
            Some((_, Delta::TextAppended { index, text })),
            Delta::TextAppended {
                index: on,
                text: more,
            },
        )
        | (
            Some((_, Delta::ArgumentsAppended { index, text })),
            Delta::ArgumentsAppended {
                index: on,
                text: more,
            },
        ) if index == on => *text = format!("{text}{more}").into(),
        _ => pieces.push((call, delta)),
    }
}

/// The words of the answer, with nothing between.
fn words(view: &View) -> String {
    let texts = view.pieces.iter().filter_map(|(_, delta)| match delta {
        Delta::TextAppended { text, .. } => Some(&**text),
        _ => None,
    });
    texts.collect()
}

/// What was shown, as one message.
fn gathered(view: &View) -> Message {
    let turn = jackfield_domain::ids::TurnId::parse("any").expect("an id");
    let mut gather = Gather::new(turn);
    let mut open = BTreeSet::new();
    for (call, delta) in &view.pieces {
        gather.push(call.as_ref(), delta);
        match delta {
            Delta::BlockEnded { index } => _ = open.remove(index),
            delta => _ = open.insert(delta.index()),
        }
    }
    for index in open {
        gather.push(None, &Delta::BlockEnded { index });
    }
    let end = match &view.end {
        Some(SegmentEnd::Whole(end)) => end.clone(),
        Some(SegmentEnd::BrokenOff(_) | SegmentEnd::Failed(_)) | None => {
            jackfield_domain::reply::ReplyEnd::new(FinishReason::Stop)
        }
    };
    let reply = gather.finish(end).expect("pieces that fit");
    Message::clone(&reply.message)
}
