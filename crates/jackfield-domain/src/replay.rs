//! Replay: rebuilds the input of each recorded step, decides it again, and compares the result with the record.
//!
//! It calls no provider and no tool, and reads no clock. Each step is decided at its recorded instant, on top
//! of the *recorded* facts before it, so each step is judged on its own: a step that differs does not affect
//! later ones.
//!
//! ```text
//! let mut replay = Replay::new(session, &deliveries);
//! for step in &steps {
//!     let replayed = replay.step(step);   // same, or where it differs first
//! }
//! ```
//!
//! An input is rebuilt from the facts that it led to, see [`RebuiltInput`]. Where facts allow several inputs,
//! such as whether an interrupted reply had visible content other than text, a step is the same if one of the
//! inputs matches.

use std::sync::Arc;
use std::time::Duration;

use crate::estimate;
use crate::fact::{Envelope, Fact, InputKind, ModelCallEnd};
use crate::ids::SessionId;
use crate::send_message::SendMessageUseCase;
use crate::session::Session;
use crate::setup::TurnBase;
use crate::target::BreakerSnapshot;
use crate::tool_loop::{Input, LOOP_VERSION, LiveState, Step, ToolLoop};
use crate::wait::{Delivery, DeliveryBody, WaitEnd};

mod difference;
mod ended;
mod outcome;
mod pieces;
mod rebuild;

pub use self::difference::Difference;
pub use self::rebuild::{MissingRecord, RebuiltInput};

/// The verdict on a replayed step.
#[derive(Clone, Debug, PartialEq)]
pub enum ReplayVerdict {
    /// The result differs, and another loop version decided the step: the rules have changed.
    DecidedDifferentlySince(Difference),
    /// The result differs under the same rules: the record or the loop is damaged.
    Differs(Difference),
    /// The record does not contain the step's input.
    NotRebuilt(MissingRecord),
    /// The result is the same.
    Same,
}

/// A step that was decided again.
#[derive(Clone, Debug, PartialEq)]
pub struct StepReplay {
    /// The new decision; `None` if the input could not be rebuilt.
    pub decided: Option<Step>,
    /// The kind of input, as recorded.
    pub input: InputKind,
    /// The input, as far as it could be rebuilt.
    pub rebuilt: Option<RebuiltInput>,
    /// Its number within the session.
    pub step: u64,
    /// The verdict.
    pub verdict: ReplayVerdict,
    /// The loop version that decided it.
    pub version: u32,
}

impl StepReplay {
    /// Whether the result is the same.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.verdict == ReplayVerdict::Same
    }
}

/// Decides the steps of a session again, in order.
#[derive(Clone, Debug)]
pub struct Replay<'a> {
    deliveries: &'a [Delivery],
    live: LiveState,
    session: Session,
}

impl<'a> Replay<'a> {
    /// Starts before the first step of a session, given all deliveries to it.
    #[must_use]
    pub fn new(session: SessionId, deliveries: &'a [Delivery]) -> Self {
        Self {
            deliveries,
            live: LiveState::default(),
            session: Session::new(session),
        }
    }

    /// Decides the next step again, and then continues from its recorded facts.
    pub fn step(&mut self, recorded: &Envelope) -> StepReplay {
        let replayed = self.compare(recorded);
        self.apply_recorded(recorded);
        replayed
    }

    fn compare(&self, recorded: &Envelope) -> StepReplay {
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
            let Some(step) = self.decide(&rebuilt, recorded) else {
                continue;
            };
            let difference = Difference::between(&recorded.facts, &step.facts);
            match difference.or_else(|| self.missed_answer(recorded)) {
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

    /// A wait that was closed as expired although an answer had arrived in time. Needs a check of its own,
    /// because no fact records a delivery without an effect.
    fn missed_answer(&self, recorded: &Envelope) -> Option<Difference> {
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
                *to == wait.id && wait.kind.accepts(answer) && delivery.at <= wait.deadline
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

    /// The loop's present decision for this input; `None` if there is no turn.
    fn decide(&self, rebuilt: &RebuiltInput, recorded: &Envelope) -> Option<Step> {
        let (session, now) = (self.session.id(), recorded.now);
        let breakers = seen_breakers(recorded);
        match rebuilt {
            RebuiltInput::Began { opening, setup } => {
                let base = TurnBase {
                    breakers,
                    counted: self.session.counted(),
                    grants: self.session.grants().clone(),
                    messages: self.session.messages(),
                    ordinal: self.session.turns().saturating_add(1),
                    session: session.clone(),
                };
                let (_, step) =
                    SendMessageUseCase::begin(base, opening.clone(), Arc::clone(setup), now);
                Some(step)
            }
            RebuiltInput::Forked(facts) => Some(Step {
                facts: facts.clone(),
                ..Step::default()
            }),
            RebuiltInput::Recovered {
                deliveries,
                restrictions,
            } => {
                let turn = self.session.open_turn()?.clone();
                let current_restrictions = restrictions.clone();
                let (_, step) = ToolLoop::recover_turn(
                    session,
                    turn,
                    deliveries,
                    now,
                    current_restrictions,
                    breakers,
                );
                Some(step)
            }
            RebuiltInput::Handled {
                input,
                pieces,
                used,
            } => {
                let turn = self.session.last_turn()?.clone();
                let mut live = self.live.clone();
                live.see_breakers(breakers);
                let last_heard = live.last_heard();
                if let Some(reply) = live.touch_reply(now) {
                    for piece in pieces {
                        // Pieces from a tampered record may not match; the facts then differ.
                        let _broken = reply.push(piece);
                    }
                    if let Some(used) = used {
                        let since = estimate::bytes(used.estimated_output);
                        let units = reply.units().saturating_sub(since);
                        live.record_usage(used.without_estimates(), units);
                    }
                }
                // The facts have no deltas, but they have the time to the first one.
                live.set_first_token(first_token(&recorded.facts));
                // A wake-up ends a reply only if a limit on the wait for it was reached.
                if let (Input::Woke, Some(last_heard)) = (&**input, last_heard) {
                    let message = failure_message(&recorded.facts);
                    live.suppose_overdue(&turn, last_heard, message, now);
                }
                let mut tool_loop = ToolLoop::from_state(session.clone(), turn, live);
                Some(tool_loop.handle(Input::clone(input), now))
            }
        }
    }

    /// Continues from the recorded step.
    fn apply_recorded(&mut self, recorded: &Envelope) {
        match recorded.input {
            InputKind::Began => self.live = LiveState::default(),
            InputKind::Recovered => {
                let turn = self.session.open_turn();
                let active = turn.map(|turn| turn.active).unwrap_or_default();
                self.live = LiveState::recovered(active);
            }
            InputKind::Delivered
            | InputKind::Forked
            | InputKind::Imported
            | InputKind::ReplyDelta
            | InputKind::ReplyEnded
            | InputKind::ReplyFailed
            | InputKind::ToolAccepted
            | InputKind::ToolAsked
            | InputKind::ToolFailed
            | InputKind::ToolFinished
            | InputKind::Woke => self.live.advance(recorded.now),
        }
        for fact in &recorded.facts {
            self.session.apply(fact);
        }
        if let Some(turn) = self.session.last_turn() {
            self.live.sync_to_turn(turn, recorded.now);
        }
    }
}

/// Why the model call that these facts end has failed.
fn failure_message(facts: &[Fact]) -> Option<&str> {
    facts.iter().find_map(|fact| {
        let why = if let Fact::ModelCallEnded { why, .. } = fact {
            why
        } else if let Fact::Compacted(compaction) = fact {
            compaction.failure.as_ref()?
        } else {
            return None;
        };
        let ModelCallEnd::Failed(failure) = why else {
            return None;
        };
        Some(&*failure.message)
    })
}

/// The recorded time from the start of the model call that these facts end to the first piece of its reply.
fn first_token(facts: &[Fact]) -> Option<Duration> {
    facts.iter().find_map(|fact| match fact {
        Fact::ModelCallEnded { first_token, .. } | Fact::ReplyReceived { first_token, .. } => {
            *first_token
        }
        Fact::BackendSession { .. }
        | Fact::CallAccepted { .. }
        | Fact::CallClosed { .. }
        | Fact::CallLost { .. }
        | Fact::CallStarted { .. }
        | Fact::Compacted(_)
        | Fact::Late(_)
        | Fact::ModelCallStarted { .. }
        | Fact::SessionForked { .. }
        | Fact::SessionImported { .. }
        | Fact::TurnEnded { .. }
        | Fact::TurnOpened { .. }
        | Fact::TurnResumed { .. }
        | Fact::WaitClosed { .. }
        | Fact::WaitOpened { .. } => None,
    })
}

/// The breakers that the decisions of a step saw. A step without a choice did not depend on them.
fn seen_breakers(recorded: &Envelope) -> Vec<BreakerSnapshot> {
    let seen = recorded.facts.iter().find_map(|fact| {
        let Fact::ModelCallStarted {
            choice: Some(choice),
            ..
        } = fact
        else {
            return None;
        };
        Some(choice.breakers.clone())
    });
    seen.unwrap_or_default()
}
