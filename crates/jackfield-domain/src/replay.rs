//! Replay: what each recorded step answered is rebuilt, decided again, and compared with the record.
//!
//! Nothing is asked of anybody: no provider, no tool, no clock. Each step is decided at its recorded
//! instant, on top of the *recorded* facts before it, so that it is judged on its own: a step that
//! differs does not make those after it differ.
//!
//! ```text
//! let mut replay = Replay::new(session, &deliveries);
//! for step in &steps {
//!     let replayed = replay.step(step);   // same, or where it differs first
//! }
//! ```
//!
//! What an input was is told by the facts that it led to, see [`RebuiltInput`]. Where facts leave more
//! than one input possible, such as whether anything but text had been seen of a reply that broke,
//! a step is the same if it is for one of them.

use std::sync::Arc;

use crate::estimate;
use crate::fact::{Envelope, Fact, InputKind};
use crate::ids::SessionId;
use crate::send_message::{SendMessageUseCase, TurnBase};
use crate::session::Session;
use crate::time::{MonoTime, Now};
use crate::tool_loop::{Input, LOOP_VERSION, LiveState, Step, ToolLoop};
use crate::wait::{Delivery, DeliveryBody, WaitEnd};

mod difference;
mod outcome;
mod pieces;
mod rebuild;

pub use self::difference::Difference;
pub use self::rebuild::{MissingRecord, RebuiltInput};

/// What came of deciding a step again.
#[derive(Clone, Debug, PartialEq)]
pub enum ReplayVerdict {
    /// It comes out otherwise, and another version of the loop decided it: the rules have changed.
    DecidedDifferentlySince(Difference),
    /// It comes out otherwise, under the same rules: the record or the loop is damaged.
    Differs(Difference),
    /// The record does not say what it answered.
    NotRebuilt(MissingRecord),
    /// It comes out the same.
    Same,
}

/// A step, decided again.
#[derive(Clone, Debug, PartialEq)]
pub struct StepReplay {
    /// What is decided today; nothing where the input could not be rebuilt.
    pub decided: Option<Step>,
    /// What kind of input the record says that it answered.
    pub input: InputKind,
    /// What it answered, as far as it could be rebuilt.
    pub rebuilt: Option<RebuiltInput>,
    /// Its number within the session.
    pub step: u64,
    /// What came of it.
    pub verdict: ReplayVerdict,
    /// The version of the loop that decided it.
    pub version: u32,
}

impl StepReplay {
    /// Whether it comes out the same.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.verdict == ReplayVerdict::Same
    }
}

/// Decides the steps of a session again, one after another.
#[derive(Clone, Debug)]
pub struct Replay<'a> {
    deliveries: &'a [Delivery],
    live: LiveState,
    session: Session,
}

impl<'a> Replay<'a> {
    /// Begins before the first step of a session, with everything that was ever delivered to it.
    #[must_use]
    pub fn new(session: SessionId, deliveries: &'a [Delivery]) -> Self {
        Self {
            deliveries,
            live: LiveState::default(),
            session: Session::new(session),
        }
    }

    /// Decides the next step again, and then goes on from what is recorded of it.
    pub fn step(&mut self, recorded: &Envelope) -> StepReplay {
        let replayed = self.judge(recorded);
        self.follow(recorded);
        replayed
    }

    fn judge(&self, recorded: &Envelope) -> StepReplay {
        let replayed = |rebuilt, decided, verdict| StepReplay {
            decided,
            input: recorded.input,
            rebuilt,
            step: recorded.step,
            verdict,
            version: recorded.version,
        };
        let candidates = match rebuild::inputs(&self.session, self.deliveries, recorded) {
            Ok(candidates) => candidates,
            Err(missing) => return replayed(None, None, ReplayVerdict::NotRebuilt(missing)),
        };
        let mut first = None;
        for rebuilt in candidates {
            let Some(step) = self.decide(&rebuilt, recorded.now) else {
                continue;
            };
            let difference = Difference::between(&recorded.facts, &step.facts);
            match difference.or_else(|| self.passed_over(recorded)) {
                None => return replayed(Some(rebuilt), Some(step), ReplayVerdict::Same),
                Some(difference) => _ = first.get_or_insert((rebuilt, step, difference)),
            }
        }
        match first {
            None => replayed(None, None, ReplayVerdict::NotRebuilt(MissingRecord::Turn)),
            Some((rebuilt, step, difference)) => {
                let verdict = if recorded.version == LOOP_VERSION {
                    ReplayVerdict::Differs(difference)
                } else {
                    ReplayVerdict::DecidedDifferentlySince(difference)
                };
                replayed(Some(rebuilt), Some(step), verdict)
            }
        }
    }

    /// A question that was closed as one that nobody answered in time, although somebody had: no fact
    /// tells of a delivery that had no effect.
    fn passed_over(&self, recorded: &Envelope) -> Option<Difference> {
        let turn = self.session.open_turn()?;
        recorded.facts.iter().enumerate().find_map(|(place, fact)| {
            let Fact::WaitClosed {
                end: end @ WaitEnd::Expired,
                wait,
                ..
            } = fact
            else {
                return None;
            };
            let wait = turn.waits().find(|open| open.id == *wait)?;
            let in_time = self.deliveries.iter().find(|delivery| {
                let DeliveryBody::Answer { answer, wait: to } = &delivery.body else {
                    return false;
                };
                *to == wait.id && wait.kind.takes(answer) && delivery.at <= wait.deadline
            })?;
            Some(Difference {
                decided: format!("the answer of {}, delivered in time", in_time.id),
                fact: place,
                field: Some("end"),
                kind: "wait_closed",
                recorded: format!("{end:?}"),
            })
        })
    }

    /// What the loop answers to this today; nothing if there is no turn to tell it to.
    fn decide(&self, rebuilt: &RebuiltInput, now: Now) -> Option<Step> {
        let session = self.session.id();
        match rebuilt {
            RebuiltInput::Began { opening, setup } => {
                let base = TurnBase {
                    grants: self.session.grants().clone(),
                    messages: self.session.messages(),
                    ordinal: self.session.turns().saturating_add(1),
                    session: session.clone(),
                };
                let (_, step) =
                    SendMessageUseCase::begin(base, opening.clone(), Arc::clone(setup), now);
                Some(step)
            }
            RebuiltInput::Forked(fact) => Some(Step {
                facts: vec![Fact::clone(fact)],
                ..Step::default()
            }),
            RebuiltInput::Recovered {
                deliveries,
                restrictions,
            } => {
                let turn = self.session.open_turn()?.clone();
                let today = restrictions.clone();
                Some(ToolLoop::take_up(session, turn, deliveries, now, today).1)
            }
            RebuiltInput::Told {
                input,
                pieces,
                used,
            } => {
                let turn = self.session.last_turn()?.clone();
                let mut live = self.live.clone();
                // The clock alone ends a reply only if that was silent for as long as it may be.
                let heard = match (&**input, live.heard()) {
                    (Input::Woke, Some(began)) => {
                        let idle = turn.setup().model_idle();
                        let silent = now.mono.elapsed().saturating_sub(idle);
                        began.max(MonoTime::from_start(silent))
                    }
                    (_, _) => now.mono,
                };
                let heard = Now { mono: heard, ..now };
                if let Some(reply) = live.hear_reply(heard) {
                    for piece in pieces {
                        // Pieces of a record that was tampered with may not fit; the facts will not, then.
                        let _broken = reply.push(piece);
                    }
                    if let Some(used) = used {
                        let since = estimate::bytes(used.estimated_output);
                        let units = reply.units().saturating_sub(since);
                        live.count_reply(used.counted(), units);
                    }
                }
                let mut machine = ToolLoop::standing(session.clone(), turn, live);
                Some(machine.handle(Input::clone(input), now))
            }
        }
    }

    /// Goes on from what is recorded.
    fn follow(&mut self, recorded: &Envelope) {
        match recorded.input {
            InputKind::Began => self.live = LiveState::default(),
            InputKind::Recovered => {
                let turn = self.session.open_turn();
                let active = turn.map(|turn| turn.active).unwrap_or_default();
                self.live = LiveState::recovered(active);
            }
            InputKind::Delivered
            | InputKind::Forked
            | InputKind::ReplyDelta
            | InputKind::ReplyEnded
            | InputKind::ReplyFailed
            | InputKind::ToolAccepted
            | InputKind::ToolAsked
            | InputKind::ToolFailed
            | InputKind::ToolFinished
            | InputKind::Woke => self.live.pass_time(recorded.now),
        }
        for fact in &recorded.facts {
            self.session.apply(fact);
        }
        if let Some(turn) = self.session.last_turn() {
            self.live.follow(turn, recorded.now);
        }
    }
}
