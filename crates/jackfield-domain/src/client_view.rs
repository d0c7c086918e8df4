//! Client views: a turn as one client sees it.
//!
//! A client does not know rounds. It sends a request and gets one reply: everything from the turn's opening, or
//! from the results that the client sent, until the turn ends or waits for client tools. That part of a turn is
//! a [segment](Segments), counted from 0, and a pure function of the facts. A [`ClientView`] converts session
//! events into the pieces of one reply: live or long after, with the same content in the same order.
//!
//! Server tool calls are left out, or displayed as calls that the provider ran, depending on the turn's
//! [`Display`]. A client tool call is displayed once it is certain that the client may run it: a client never
//! receives a call that it must not run. If the display asks for it, a call is streamed while it is written,
//! provided that only the end of the reply could still invalidate it; if it does, the turn and the reply end.

use crate::caller::Display;
use crate::delta::Delta;
use crate::fact::{Envelope, Fact, ModelCallEnd, TurnEnd};
use crate::failure::{ModelFailure, ModelFailureKind, Phase};
use crate::ids::{ToolCallId, TurnId};
use crate::reply::{FinishReason, Reply, ReplyEnd};
use crate::session_events::{EventStream, SessionEvent};

mod batch;
mod gather;
mod live;
mod segments;

use self::batch::ShownBatch;
pub use self::gather::Gather;
use self::live::LiveAttempt;
pub(crate) use self::segments::event_facts;
pub use self::segments::{Segments, facts_before, repeats};

/// A piece of a client view.
#[derive(Clone, Debug, PartialEq)]
pub enum ClientEvent {
    /// A piece of the reply.
    Piece {
        /// Jackfield's id of the call that begins with this piece, if one does.
        call: Option<ToolCallId>,
        /// The piece. Blocks are numbered in the order in which they begin, across all rounds.
        delta: Delta,
    },
    /// An attempt at the reply was discarded and is retried. This view has shown nothing of it, but another
    /// connection, such as an earlier one of the same client, may have. For a client that has received part of
    /// it, the reply ends with this end.
    Retried(TurnEnd),
    /// The end of the reply; the last event.
    End(SegmentEnd),
}

/// How a reply to a client ended.
#[derive(Clone, Debug, PartialEq)]
pub enum SegmentEnd {
    /// The client has part of an attempt that was discarded, and cannot take it back. The turn goes on: whoever asks again
    /// gets all of its reply.
    BrokenOff(TurnEnd),
    /// It was interrupted, or there is none. The part that was already sent stays valid.
    Failed(TurnEnd),
    /// It is complete.
    Whole(ReplyEnd),
}

/// Converts the events of one turn into one segment's reply.
#[derive(Clone, Debug)]
pub struct ClientView {
    segment: u32,
    turn: TurnId,
    view: TurnProgress,
}

#[derive(Clone, Debug)]
enum TurnProgress {
    /// The turn has not begun.
    Before,
    Over,
    Within(Box<TurnSnapshot>),
}

/// The state of the turn so far.
#[derive(Clone, Debug)]
struct TurnSnapshot {
    batch: ShownBatch,
    display: Display,
    end: ReplyEnd,
    live: LiveAttempt,
    /// The index of the next block.
    next_index: u32,
    segments: Segments,
}

impl ClientView {
    /// The view of this segment, counted from 0. It must get all events of the turn from its
    /// [opening](facts_before) on; earlier events of the session are ignored.
    #[must_use]
    pub const fn new(turn: TurnId, segment: u32) -> Self {
        Self {
            segment,
            turn,
            view: TurnProgress::Before,
        }
    }

    /// The client events for a session event; empty after the end.
    pub fn apply(&mut self, event: &SessionEvent) -> Vec<ClientEvent> {
        let within = match &mut self.view {
            TurnProgress::Over => return Vec::new(),
            TurnProgress::Within(within) => within,
            TurnProgress::Before => {
                if let SessionEvent::Fact { fact, .. } = event
                    && matches!(&**fact, Fact::TurnOpened { turn, .. } if *turn == self.turn)
                    && let Some(segments) = Segments::open(fact)
                {
                    self.view = TurnProgress::Within(Box::new(TurnSnapshot::new(segments)));
                }
                return Vec::new();
            }
        };
        let is_requested = within.segments.current() == self.segment;
        let mut events = Vec::new();
        let end = within.see(event, &mut events);
        if !is_requested {
            events.clear();
            // The turn has ended without this segment.
            if let Some(end) = within.segments.turn().end() {
                events.push(ClientEvent::End(SegmentEnd::Failed(end.clone())));
            }
        } else if let Some(end) = end {
            events.push(ClientEvent::End(end));
        }
        if matches!(events.last(), Some(ClientEvent::End(_))) {
            self.view = TurnProgress::Over;
        }
        events
    }
}

impl TurnSnapshot {
    fn new(segments: Segments) -> Self {
        let caller = segments.turn().setup().caller.as_ref();
        Self {
            batch: ShownBatch::default(),
            display: caller.map(|caller| caller.display).unwrap_or_default(),
            end: ReplyEnd::new(FinishReason::Stop),
            live: LiveAttempt::default(),
            next_index: 0,
            segments,
        }
    }

    /// Adds the client events for a session event; returns the end of the reply if it ends here.
    fn see(&mut self, event: &SessionEvent, events: &mut Vec<ClientEvent>) -> Option<SegmentEnd> {
        match event {
            SessionEvent::Text { piece, .. } => {
                let turn = self.segments.turn();
                self.live.push(piece, turn, &mut self.next_index, events);
                None
            }
            SessionEvent::Superseded { fact, .. } => {
                self.segments.apply(fact, false);
                let end = TurnEnd::Interrupted(retried_reply_failure());
                if self.live.discard(&mut self.next_index) {
                    return Some(SegmentEnd::BrokenOff(end));
                }
                if may_have_streamed(fact) {
                    events.push(ClientEvent::Retried(end));
                }
                None
            }
            SessionEvent::Fact { fact, is_last, .. } => {
                let ends = self.segments.apply(fact, *is_last);
                self.apply_fact(fact, events);
                // Blocks behind a call with malformed arguments wait until the turn's outcome is known.
                if *is_last && !self.live.is_holding() {
                    let catalog = &self.segments.turn().setup().catalog;
                    self.batch
                        .emit(self.display, catalog, &mut self.next_index, events);
                }
                if ends {
                    self.batch.emit_outcomes(&mut self.next_index, events);
                    return Some(self.finish_segment(FinishReason::ToolCalls));
                }
                if let Fact::TurnEnded { end, .. } = &**fact {
                    return Some(self.segment_end_for(end));
                }
                None
            }
        }
    }

    fn apply_fact(&mut self, fact: &Fact, events: &mut Vec<ClientEvent>) {
        match fact {
            Fact::CallClosed {
                call,
                result,
                shown,
                ..
            } => self.batch.close(call, result, *shown),
            Fact::ModelCallEnded { partial, .. } => {
                self.live
                    .interrupt(partial.as_deref(), &mut self.next_index, events);
            }
            Fact::ModelCallStarted { .. } => self.live = LiveAttempt::after_blocks(self.next_index),
            Fact::ReplyReceived { reply, .. } => {
                let begun = self.live.finish(events);
                self.batch = ShownBatch::from_reply(&reply.message, &begun);
                self.add_reply_end(&reply.end);
            }
            Fact::WaitOpened { wait } => self.batch.mark_client_call(wait),
            Fact::BackendSession { .. }
            | Fact::Compacted(_)
            | Fact::CallAccepted { .. }
            | Fact::CallLost { .. }
            | Fact::CallStarted { .. }
            | Fact::Late(_)
            | Fact::SessionForked { .. }
            | Fact::SessionImported { .. }
            | Fact::TurnOpened { .. }
            | Fact::TurnResumed { .. }
            | Fact::WaitClosed { .. } => {}
            Fact::TurnEnded { end, .. } => match end {
                TurnEnd::Answered(_)
                | TurnEnd::Limited {
                    is_error: false, ..
                } => self.live.release(events),
                TurnEnd::Cancelled(_)
                | TurnEnd::ClientExpired
                | TurnEnd::Failed(_)
                | TurnEnd::Interrupted(_)
                | TurnEnd::Limited { is_error: true, .. } => {}
            },
        }
    }

    /// Merges the end of a round's reply into the end of the segment's reply.
    fn add_reply_end(&mut self, end: &ReplyEnd) {
        let mut usage = self.end.usage;
        if let Some(more) = end.usage {
            *usage.get_or_insert_default() += more;
        }
        let mut notes = std::mem::take(&mut self.end.notes);
        notes.extend(end.notes.iter().cloned());
        self.end = ReplyEnd {
            notes,
            usage,
            ..end.clone()
        };
    }

    fn segment_end_for(&mut self, end: &TurnEnd) -> SegmentEnd {
        match end {
            TurnEnd::Answered(_)
            | TurnEnd::Limited {
                is_error: false, ..
            } => {
                let finish = match &self.end.finish {
                    // The turn is over, so no client tool result and no continuation is expected.
                    FinishReason::Paused | FinishReason::ToolCalls => FinishReason::Stop,
                    finish @ (FinishReason::ContentFilter
                    | FinishReason::ContextFull
                    | FinishReason::Length
                    | FinishReason::Refused
                    | FinishReason::Stop
                    | FinishReason::StopSequence(_)
                    | FinishReason::Unrecognized(_)) => finish.clone(),
                };
                self.finish_segment(finish)
            }
            TurnEnd::Cancelled(_)
            | TurnEnd::ClientExpired
            | TurnEnd::Failed(_)
            | TurnEnd::Interrupted(_)
            | TurnEnd::Limited { is_error: true, .. } => SegmentEnd::Failed(end.clone()),
        }
    }

    fn finish_segment(&mut self, finish: FinishReason) -> SegmentEnd {
        self.next_index = 0;
        let next = ReplyEnd::new(FinishReason::Stop);
        let end = std::mem::replace(&mut self.end, next);
        SegmentEnd::Whole(ReplyEnd { finish, ..end })
    }
}

/// The reply of a finished segment, or how it failed; `None` if it is not finished or does not exist.
///
/// It consists of the pieces of a [`ClientView`].
#[must_use]
pub fn reply(steps: &[Envelope], turn: &TurnId, segment: u32) -> Option<Result<Reply, TurnEnd>> {
    let before = facts_before(steps, turn)?;
    let mut stream = EventStream::new(crate::cursor::Cursor::after_facts(before));
    for step in steps {
        stream.feed(step.clone());
    }
    let mut view = ClientView::new(turn.clone(), segment);
    let mut gather = Gather::new(turn.clone());
    while let Some((_, event)) = stream.next() {
        for shown in view.apply(&event) {
            match shown {
                ClientEvent::Retried(_) => {}
                ClientEvent::Piece { call, delta } => gather.push(call.as_ref(), &delta),
                ClientEvent::End(SegmentEnd::BrokenOff(end) | SegmentEnd::Failed(end)) => {
                    return Some(Err(end));
                }
                ClientEvent::End(SegmentEnd::Whole(end)) => {
                    let reply = gather.finish(end);
                    return Some(reply.map_err(|violation| {
                        let (kind, phase) = (ModelFailureKind::Unsupported, Phase::MidReply);
                        let message = format!("the replies together cannot be told: {violation}");
                        TurnEnd::Failed(ModelFailure::new(kind, phase, message))
                    }));
                }
            }
        }
    }
    None
}

/// Whether part of the reply that this fact ends may have been sent. For a lost reply this is unknown.
fn may_have_streamed(fact: &Fact) -> bool {
    let Fact::ModelCallEnded { why, .. } = fact else {
        return false;
    };
    match why {
        ModelCallEnd::Cancelled | ModelCallEnd::Lost => true,
        ModelCallEnd::Failed(failure) => failure.phase == Phase::MidReply,
    }
}

/// The failure of a reply that was partly sent and then discarded; it cannot be taken back.
fn retried_reply_failure() -> ModelFailure {
    let message = "the reply broke off and is asked for again: the turn goes on, send the same request again for its reply";
    ModelFailure::new(ModelFailureKind::Interrupted, Phase::MidReply, message)
}
