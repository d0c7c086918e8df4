//! Views of worlds: what a client is shown of a turn, live and later, and where its next requests belong.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jackfield_domain::accumulator::ReplyAccumulator;
use jackfield_domain::block::{Block, Content, RanBy};
use jackfield_domain::cursor::Cursor;
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::fact::{Envelope, Fact, TurnEnd};
use jackfield_domain::ids::{ModelAttempt, ToolCallId};
use jackfield_domain::locate::{self, Known, Located, Refused, Traces};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::outcome::{ToolOutcome, ToolResult};
use jackfield_domain::reply::FinishReason;
use jackfield_domain::telling::{Teller, Told};
use jackfield_domain::tool_input::JsonInput;
use jackfield_domain::usage::Usage;
use jackfield_domain::view::{self, Gather, SegmentEnd, Segments, Shown, Viewer};
use jackfield_domain::wait::{Answer, WaitEnd, WaitKind};

use super::scenario::PRINCIPAL;
use super::{Class, Property, World};

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
        let mut history = vec![Message::user("do it")];
        let mut used = Usage::default();
        let mut kept = true;
        for (segment, bounds) in (0..).zip(self.segments()) {
            let later = self.view(segment, usize::MAX);
            self.check_live(segment, &later);
            self.check_pieces(&later, &bounds);
            match &later.end {
                Some(SegmentEnd::Whole(end)) => used += end.usage.unwrap_or_default(),
                Some(SegmentEnd::Failed(_)) => kept = false,
                None => self.violate(Property::ViewsAreTheSame, "no end".to_owned()),
            }
            history.push(self.kept(&later, &bounds));
            if segment > 0 {
                self.classes.insert(Class::SecondSegment);
            }
            if let Some(results) = bounds.brought {
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

    /// The segments of the turn.
    fn segments(&self) -> Vec<Bounds> {
        let mut all = vec![Bounds::default()];
        let mut segments: Option<Segments> = None;
        let mut waits = Vec::new();
        for (at, step) in self.steps.iter().enumerate() {
            let last = step
                .facts
                .iter()
                .rposition(|fact| !matches!(fact, Fact::Late(_)));
            for (place, fact) in step.facts.iter().enumerate() {
                if matches!(fact, Fact::Late(_)) {
                    continue;
                }
                let Some(open) = &mut segments else {
                    segments = Segments::open(fact);
                    continue;
                };
                if let Fact::WaitOpened { wait } = fact
                    && wait.kind == WaitKind::ClientResult
                {
                    waits.push(wait.clone());
                    all.last_mut().expect("one").asked.insert(wait.call.clone());
                }
                let ends = open.apply(fact, Some(place) == last);
                assert_eq!(open.now() as usize, all.len() - usize::from(!ends));
                if ends {
                    let now = all.last_mut().expect("one");
                    now.steps = at + 1;
                    now.is_handed_over = true;
                    let round = open.turn().rounds();
                    let of_round = |wait: &&jackfield_domain::wait::Wait| {
                        let calls = self.calls_of(round);
                        calls.contains(&wait.call)
                    };
                    let of_round: Vec<_> = waits.iter().filter(of_round).cloned().collect();
                    now.handed = of_round.iter().map(|wait| wait.call.clone()).collect();
                    now.brought = Some(self.results(&of_round, &self.steps));
                    let waiting = open.turn().waits();
                    let waiting = waiting.map(|wait| wait.call.clone()).collect::<Vec<_>>();
                    // What came before the reply was over is among them.
                    now.early = Some(
                        of_round
                            .iter()
                            .filter(|wait| waiting.contains(&wait.call))
                            .map(|wait| outcome(&wait.call, ToolResult::text("early")))
                            .collect(),
                    );
                    all.push(Bounds::default());
                }
            }
        }
        all
    }

    fn calls_of(&self, round: u32) -> Vec<ToolCallId> {
        self.committed
            .iter()
            .filter_map(|fact| match fact {
                Fact::ReplyReceived { attempt, reply } if attempt.round == round => Some(reply),
                _ => None,
            })
            .flat_map(|reply| reply.message.calls().map(|call| call.id.clone()))
            .collect()
    }

    /// What the client brought of these, in some order.
    fn results(
        &self,
        waits: &[jackfield_domain::wait::Wait],
        steps: &[Envelope],
    ) -> Vec<Arc<ToolOutcome>> {
        let facts = steps.iter().flat_map(|step| &step.facts);
        let mut results: Vec<_> = facts
            .filter_map(|fact| match fact {
                Fact::WaitClosed {
                    end:
                        WaitEnd::Answered {
                            answer: Answer::ClientResult(result),
                            ..
                        },
                    wait,
                    ..
                } => {
                    let wait = waits.iter().find(|known| known.id == *wait)?;
                    Some(outcome(&wait.call, result.clone()))
                }
                _ => None,
            })
            .collect();
        results.reverse();
        results
    }

    /// The segment, as it is shown to somebody who looks whenever so many things have happened.
    fn view(&self, segment: u32, every: usize) -> View {
        let turn = self.machine.turn().id().clone();
        let mut teller = Teller::new(Cursor::START);
        let mut viewer = Viewer::new(turn.clone(), segment);
        let mut view = View {
            end: None,
            pieces: Vec::new(),
        };
        let mut see = |told: &Told| {
            for shown in viewer.see(told) {
                assert_eq!(view.end, None, "something is shown behind the end");
                match shown {
                    Shown::End(end) => view.end = Some(end),
                    Shown::Piece { call, delta } => add(&mut view.pieces, call, delta),
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
                    while let Some((_, told)) = teller.next_of(*facts, reply) {
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
            let superseded = matches!(
                &live.end,
                Some(SegmentEnd::Failed(TurnEnd::Interrupted(failure)))
                    if failure.message.contains("send the request again")
            );
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
        let whole = view::reply(&self.steps, &turn, segment);
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
            Some(SegmentEnd::Failed(_)) | None => None,
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
            Some(SegmentEnd::Failed(_)) | None => true,
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

    /// Where a history belongs of which the world has come so far.
    fn locate(&self, history: &[Message], steps: usize) -> Located {
        let known = Known::of(self.session().clone(), &self.steps[..steps]);
        let other = Known::of(self.session().clone(), &[]);
        locate::locate(PRINCIPAL, &Traces::of(history), &[other, known])
    }

    /// The results that a turn waits for answer it; some of them do not.
    fn check_answer(&mut self, history: &[Message], steps: usize) {
        let turn = self.machine.turn().id().clone();
        let results = locate::results(history);
        let located = self.locate(history, steps);
        let expected = Located::Answer {
            results: results.clone(),
            session: self.session().clone(),
            turn,
        };
        if located != expected {
            let detail = format!("{located:#?} is not {expected:#?}");
            self.violate(Property::RequestsAreFound, detail);
        }
        if results.len() > 1 {
            let mut fewer = history.to_vec();
            let last = fewer.last_mut().expect("results");
            last.blocks.pop();
            let located = self.locate(&fewer, steps);
            if !matches!(&located, Located::Refused(Refused::Missing { calls }) if calls.len() == 1)
            {
                self.violate(Property::RequestsAreFound, format!("{located:#?}"));
            }
        }
        // Nobody else finds it.
        let known = Known::of(self.session().clone(), &self.steps[..steps]);
        if locate::locate("somebody else", &Traces::of(history), &[known]) != Located::New {
            self.violate(Property::RequestsAreFound, "another's".to_owned());
        }
    }

    /// The same results again are the same request, and others are none.
    fn check_again(&mut self, history: &[Message], segment: u32, is_last: bool) {
        let located = self.locate(history, self.steps.len());
        let broke_off = is_last
            && matches!(
                self.machine.turn().end(),
                Some(TurnEnd::Cancelled(_) | TurnEnd::Failed(_) | TurnEnd::Interrupted(_))
            );
        let is_right = match &located {
            Located::Collect { segment: found, .. } => *found == segment && !broke_off,
            Located::Late { at, .. } => at.is_none() && (broke_off || self.has_missed()),
            _ => false,
        };
        if !is_right {
            let detail = format!("{located:#?} of {history:#?}");
            self.violate(Property::RequestsAreFound, detail);
        }
        let mut other = history.to_vec();
        let last = other.last_mut().expect("results");
        last.blocks.push(Block::text("and more"));
        let located = self.locate(&other, self.steps.len());
        if !matches!(located, Located::Refused(Refused::Conflict { .. })) {
            self.violate(Property::RequestsAreFound, format!("{located:#?}"));
        }
    }

    fn has_missed(&self) -> bool {
        self.committed.iter().any(|fact| {
            matches!(fact, Fact::WaitClosed { end, .. } if !matches!(end, WaitEnd::Answered { .. }))
        })
    }

    /// What a client says next goes on with the session.
    fn check_next(&mut self, history: &[Message]) {
        let mut next = history.to_vec();
        next.push(Message::user("and then?"));
        let located = self.locate(&next, self.steps.len());
        let ends_with_model = history
            .last()
            .is_some_and(|last| last.role == Role::Assistant);
        match located {
            Located::Continue { known, .. } if known <= history.len() => {}
            // What a turn that broke off was brought last was never answered.
            _ if !ends_with_model || says_nothing(history.last()) => {}
            located => {
                let detail = format!("{located:#?} for {next:#?}");
                self.violate(Property::RequestsAreFound, detail);
            }
        }
    }
}

/// What is known of a segment by its facts.
#[derive(Clone, Debug, Default)]
struct Bounds {
    /// The calls that it asks the client to run.
    asked: BTreeSet<ToolCallId>,
    /// What the client brought, once the segment was over.
    brought: Option<Vec<Arc<ToolOutcome>>>,
    /// Results for the calls that were open when the segment ended.
    early: Option<Vec<Arc<ToolOutcome>>>,
    /// The calls with which it ended, all of one round.
    handed: BTreeSet<ToolCallId>,
    /// Whether it ended with calls for the client.
    is_handed_over: bool,
    /// How many steps there were when it ended, if it ended so.
    steps: usize,
}

fn says_nothing(message: Option<&Message>) -> bool {
    message.is_none_or(|message| {
        let mut calls = message.calls();
        message.to_text().trim().is_empty() && calls.all(|call| call.ran_by == RanBy::Provider)
    })
}

fn outcome(call: &ToolCallId, result: ToolResult) -> Arc<ToolOutcome> {
    Arc::new(ToolOutcome {
        call: call.clone(),
        opaque: Vec::new(),
        result,
    })
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
        gather.take(call.as_ref(), delta);
        match delta {
            Delta::BlockEnded { index } => _ = open.remove(index),
            delta => _ = open.insert(delta.index()),
        }
    }
    for index in open {
        gather.take(None, &Delta::BlockEnded { index });
    }
    let end = match &view.end {
        Some(SegmentEnd::Whole(end)) => end.clone(),
        Some(SegmentEnd::Failed(_)) | None => {
            jackfield_domain::reply::ReplyEnd::new(FinishReason::Stop)
        }
    };
    let reply = gather.finish(end).expect("pieces that fit");
    Message::clone(&reply.message)
}
