//! Views: a turn as one client is shown it.
//!
//! A client knows nothing of rounds. It sends a request and gets one reply: everything that the turn says
//! from its opening, or from the results that the client brought, until it ends or waits for results of the
//! client. That part of a turn is a [segment](Segments), counted from 0, and a pure function of the
//! facts. A [`ClientView`] makes the pieces of one reply of what a watcher is told of a segment: live while
//! it goes on, or long after, with the same words in the same order.
//!
//! Calls that Jackfield runs are left out, or shown as calls that the provider ran, as the turn's
//! [`Display`] says. A call of the client's is shown once it is known that the client is to run it:
//! whatever the model makes up, no client is handed a call that it must not run. Where the display says
//! so, one is shown while it is written against which nothing stands but what only its end can tell; if
//! it turns out to be none that the client may be handed, the turn ends, and the reply with it.

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
pub(crate) use self::segments::told;
pub use self::segments::{Segments, facts_before, repeats};

/// What a client is shown.
#[derive(Clone, Debug, PartialEq)]
pub enum ClientEvent {
    /// A piece of the reply.
    Piece {
        /// Our id of the call that begins with it, if one does.
        call: Option<ToolCallId>,
        /// The piece. Blocks are numbered in the order in which they begin, over all rounds.
        delta: Delta,
    },
    /// A try at the reply is void and asked for again. Nothing of it was shown here; others, such as the same
    /// client before it came back, may have been shown some of it. For a client that has some, the reply ends
    /// so.
    AskedAgain(TurnEnd),
    /// The reply is over; nothing more is shown.
    End(SegmentEnd),
}

/// How a reply to a client ended.
#[derive(Clone, Debug, PartialEq)]
pub enum SegmentEnd {
    /// It broke off, or there is none. What was shown of it stands as it is.
    Failed(TurnEnd),
    /// It is whole.
    Whole(ReplyEnd),
}

/// Shows one segment of one turn.
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

/// What is known of the turn by now.
#[derive(Clone, Debug)]
struct TurnSnapshot {
    batch: ShownBatch,
    display: Display,
    end: ReplyEnd,
    live: LiveAttempt,
    /// The number of the next block.
    next: u32,
    segments: Segments,
}

impl ClientView {
    /// A viewer of this segment, counted from 0. It has to be told the turn from its
    /// [opening](facts_before) on, or the session from any place before.
    #[must_use]
    pub const fn new(turn: TurnId, segment: u32) -> Self {
        Self {
            segment,
            turn,
            view: TurnProgress::Before,
        }
    }

    /// What the client is shown of this; nothing after the end.
    pub fn see(&mut self, told: &SessionEvent) -> Vec<ClientEvent> {
        let within = match &mut self.view {
            TurnProgress::Over => return Vec::new(),
            TurnProgress::Within(within) => within,
            TurnProgress::Before => {
                if let SessionEvent::Fact { fact, .. } = told
                    && matches!(&**fact, Fact::TurnOpened { turn, .. } if *turn == self.turn)
                    && let Some(segments) = Segments::open(fact)
                {
                    self.view = TurnProgress::Within(Box::new(TurnSnapshot::new(segments)));
                }
                return Vec::new();
            }
        };
        let shows = within.segments.now() == self.segment;
        let mut shown = Vec::new();
        let end = within.see(told, &mut shown);
        if !shows {
            shown.clear();
            // There is no such segment.
            if let Some(end) = within.segments.turn().end() {
                shown.push(ClientEvent::End(SegmentEnd::Failed(end.clone())));
            }
        } else if let Some(end) = end {
            shown.push(ClientEvent::End(end));
        }
        if matches!(shown.last(), Some(ClientEvent::End(_))) {
            self.view = TurnProgress::Over;
        }
        shown
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
            next: 0,
            segments,
        }
    }

    /// What a client is shown of this, and how its reply ends if it ends here.
    fn see(&mut self, told: &SessionEvent, shown: &mut Vec<ClientEvent>) -> Option<SegmentEnd> {
        match told {
            SessionEvent::Text { piece, .. } => {
                let turn = self.segments.turn();
                self.live.take(piece, turn, &mut self.next, shown);
                None
            }
            SessionEvent::Superseded { fact, .. } => {
                self.segments.apply(fact, false);
                let end = TurnEnd::Interrupted(said_again());
                if self.live.give_up(&mut self.next) {
                    return Some(SegmentEnd::Failed(end));
                }
                if has_perhaps_begun(fact) {
                    shown.push(ClientEvent::AskedAgain(end));
                }
                None
            }
            SessionEvent::Fact { fact, is_last, .. } => {
                let ends = self.segments.apply(fact, *is_last);
                self.fact(fact, shown);
                if *is_last {
                    let catalog = &self.segments.turn().setup().catalog;
                    self.batch
                        .show(self.display, catalog, &mut self.next, shown);
                }
                if ends {
                    self.batch.show_closed(&mut self.next, shown);
                    return Some(self.ended(FinishReason::ToolCalls));
                }
                if let Fact::TurnEnded { end, .. } = &**fact {
                    return Some(self.turn_ended(end));
                }
                None
            }
        }
    }

    fn fact(&mut self, fact: &Fact, shown: &mut Vec<ClientEvent>) {
        match fact {
            Fact::CallClosed {
                call,
                result,
                shown,
                ..
            } => self.batch.close(call, result, *shown),
            Fact::ModelCallEnded { partial, .. } => {
                self.live
                    .break_off(partial.as_deref(), &mut self.next, shown);
            }
            Fact::ModelCallStarted { .. } => self.live = LiveAttempt::behind(self.next),
            Fact::ReplyReceived { reply, .. } => {
                let begun = self.live.end(shown);
                self.batch = ShownBatch::of(&reply.message, &begun);
                self.add(&reply.end);
            }
            Fact::WaitOpened { wait } => self.batch.wait(wait),
            Fact::CallAccepted { .. }
            | Fact::CallLost { .. }
            | Fact::CallStarted { .. }
            | Fact::Late(_)
            | Fact::SessionForked { .. }
            | Fact::TurnOpened { .. }
            | Fact::TurnResumed { .. }
            | Fact::WaitClosed { .. } => {}
            Fact::TurnEnded { end, .. } => match end {
                TurnEnd::Answered(_)
                | TurnEnd::Limited {
                    is_error: false, ..
                } => self.live.release(shown),
                TurnEnd::Cancelled(_)
                | TurnEnd::ClientExpired
                | TurnEnd::Failed(_)
                | TurnEnd::Interrupted(_)
                | TurnEnd::Limited { is_error: true, .. } => {}
            },
        }
    }

    /// The end of a round's reply becomes the end of the whole, as far as it is told.
    fn add(&mut self, end: &ReplyEnd) {
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

    fn turn_ended(&mut self, end: &TurnEnd) -> SegmentEnd {
        match end {
            TurnEnd::Answered(_)
            | TurnEnd::Limited {
                is_error: false, ..
            } => {
                let finish = match &self.end.finish {
                    // Nobody is left to bring what the calls ask for, or to go on.
                    FinishReason::Paused | FinishReason::ToolCalls => FinishReason::Stop,
                    finish @ (FinishReason::ContentFilter
                    | FinishReason::ContextFull
                    | FinishReason::Length
                    | FinishReason::Refused
                    | FinishReason::Stop
                    | FinishReason::StopSequence(_)
                    | FinishReason::Unrecognized(_)) => finish.clone(),
                };
                self.ended(finish)
            }
            TurnEnd::Cancelled(_)
            | TurnEnd::ClientExpired
            | TurnEnd::Failed(_)
            | TurnEnd::Interrupted(_)
            | TurnEnd::Limited { is_error: true, .. } => SegmentEnd::Failed(end.clone()),
        }
    }

    fn ended(&mut self, finish: FinishReason) -> SegmentEnd {
        self.next = 0;
        let next = ReplyEnd::new(FinishReason::Stop);
        let end = std::mem::replace(&mut self.end, next);
        SegmentEnd::Whole(ReplyEnd { finish, ..end })
    }
}

/// The reply of a segment that is over, or how it failed; `None` if it is not over yet, or there is none.
///
/// These are the pieces of a [`ClientView`], put together.
#[must_use]
pub fn reply(steps: &[Envelope], turn: &TurnId, segment: u32) -> Option<Result<Reply, TurnEnd>> {
    let before = facts_before(steps, turn)?;
    let mut teller = EventStream::new(crate::cursor::Cursor::behind_facts(before));
    for step in steps {
        teller.feed(step.clone());
    }
    let mut viewer = ClientView::new(turn.clone(), segment);
    let mut gather = Gather::new(turn.clone());
    while let Some((_, told)) = teller.next() {
        for shown in viewer.see(&told) {
            match shown {
                ClientEvent::AskedAgain(_) => {}
                ClientEvent::Piece { call, delta } => gather.take(call.as_ref(), &delta),
                ClientEvent::End(SegmentEnd::Failed(end)) => return Some(Err(end)),
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

/// Whether something may have come of the reply that this ends: of one that was lost nobody knows.
fn has_perhaps_begun(fact: &Fact) -> bool {
    match fact {
        Fact::ModelCallEnded { why, .. } => match why {
            ModelCallEnd::Cancelled | ModelCallEnd::Lost => true,
            ModelCallEnd::Failed(failure) => failure.phase == Phase::MidReply,
        },
        Fact::CallAccepted { .. }
        | Fact::CallClosed { .. }
        | Fact::CallLost { .. }
        | Fact::CallStarted { .. }
        | Fact::Late(_)
        | Fact::ModelCallStarted { .. }
        | Fact::ReplyReceived { .. }
        | Fact::SessionForked { .. }
        | Fact::TurnEnded { .. }
        | Fact::TurnOpened { .. }
        | Fact::TurnResumed { .. }
        | Fact::WaitClosed { .. }
        | Fact::WaitOpened { .. } => false,
    }
}

/// What was shown does not hold any more, and nobody can take it back.
fn said_again() -> ModelFailure {
    let message =
        "the reply broke off and was asked for again; send the request again for all of it";
    ModelFailure::new(ModelFailureKind::Interrupted, Phase::MidReply, message)
}
