//! The tool loop: a state machine that makes all decisions about a turn and performs none of them.
//!
//! The contract of its driver: **commit a step's facts, then perform its actions, then notify observers**, and
//! feed the results of the actions back, one input at a time.
//!
//! ```text
//! let (mut turn, mut step) = SendMessageUseCase::begin(base, opening, setup, now);
//! loop {
//!     journal.append(step.facts)?;           // commit
//!     perform(step.actions);                 // then act
//!     tell(&step.facts);                     // then tell
//!     if turn.is_over() { break }
//!     let input = next_input_or(step.wake);  // Input::Woke when `wake` comes first
//!     step = turn.handle(input, now());
//! }
//! ```
//!
//! Durable state changes only by applying facts ([`Turn::apply`]), both live and during recovery. The loop has
//! no clock, no randomness, no I/O and no failures: late answers become late facts, impossible inputs change
//! nothing, and nothing panics.

use std::sync::Arc;
use std::time::Duration;

use crate::fact::Fact;
use crate::ids::{ModelAttempt, SessionId, ToolCallId, TurnId};
use crate::setup::{Opening, Setup, TurnBase};
use crate::time::{MonoTime, Now};
use crate::turn::{Stage, Turn};

mod action;
mod approvals;
mod cache_misses;
mod calls;
mod cancel;
mod compaction;
mod decider;
mod error_texts;
mod input;
mod live;
mod pauses;
mod recover;
mod replies;
mod rounds;
mod targets;
mod waits;

pub use self::action::Action;
use self::decider::Decider;
pub(crate) use self::error_texts::edited_arguments;
pub use self::input::Input;
pub(crate) use self::live::LiveState;
pub use crate::restrictions::{Restriction, Restrictions};

/// The version of the loop's rules. Another version may decide a replayed step differently.
///
/// Version 4 repeats a call by its idempotency key only for a day.
pub const LOOP_VERSION: u32 = 4;

/// The loop's output for an input.
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use = "a step that is not committed and performed is lost work"]
pub struct Step {
    /// The actions, to be performed in order after the facts are committed.
    pub actions: Vec<Action>,
    /// The facts, to be committed first, as one append.
    pub facts: Vec<Fact>,
    /// When to feed [`Input::Woke`] if no other input comes first. Waking early or often is harmless.
    pub wake: Option<MonoTime>,
}

/// The state machine of one turn.
///
/// [`handle`](Self::handle) takes inputs; all other methods are getters.
#[derive(Clone, Debug)]
pub struct ToolLoop {
    live: LiveState,
    session: SessionId,
    turn: Turn,
}

impl ToolLoop {
    /// Begins a turn with this opening; returns its first step.
    pub(crate) fn begin(
        base: TurnBase,
        opening: Opening,
        setup: Arc<Setup>,
        now: Now,
    ) -> (Self, Step) {
        let TurnBase {
            breakers,
            counted,
            grants,
            messages,
            ordinal,
            session,
        } = base;
        let setup = match grants.apply_to(&setup.catalog) {
            Some(catalog) => Arc::new(Setup {
                catalog: Arc::new(catalog),
                ..Setup::clone(&setup)
            }),
            None => setup,
        };
        let id = TurnId::derive(&session, ordinal);
        let mut turn = Turn::open(id.clone(), ordinal, &messages, &opening, &setup);
        turn.count_before(&opening, counted);
        let mut begun = Self {
            live: LiveState::default(),
            session,
            turn,
        };
        begun.live.see_breakers(breakers);
        let mut decider = Decider::new(&mut begun.turn, &mut begun.live, now);
        decider.decide(Fact::TurnOpened {
            opening,
            ordinal,
            setup,
            turn: id,
        });
        decider.advance();
        let parts = decider_parts(decider);
        let step = begun.finish(parts, now);
        (begun, step)
    }

    /// The loop in a recorded state, for replaying the next step.
    pub(crate) const fn from_state(session: SessionId, turn: Turn, live: LiveState) -> Self {
        Self {
            live,
            session,
            turn,
        }
    }

    /// Handles an input; returns the facts and actions that follow.
    pub fn handle(&mut self, input: Input, now: Now) -> Step {
        self.live.advance(now);
        let mut decider = Decider::new(&mut self.turn, &mut self.live, now);
        decider.handle(input);
        let parts = decider_parts(decider);
        self.finish(parts, now)
    }

    /// The session that the turn belongs to.
    #[must_use]
    pub const fn session(&self) -> &SessionId {
        &self.session
    }

    /// The durable state: the fold of all facts so far.
    #[must_use]
    pub const fn turn(&self) -> &Turn {
        &self.turn
    }

    /// Whether the turn has ended.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.turn.end().is_some()
    }

    /// The model call attempt in flight, if any.
    #[must_use]
    pub const fn calling(&self) -> Option<ModelAttempt> {
        match &self.turn.stage {
            Stage::Calling(attempt) => Some(*attempt),
            Stage::Ended(_) | Stage::Ready | Stage::Retrying(_) | Stage::Tools(_) => None,
        }
    }

    /// Whether the turn only waits for external answers: nothing runs and nothing is scheduled.
    #[must_use]
    pub fn only_waits(&self) -> bool {
        self.turn.only_waits()
    }

    /// The id of the newest tool call with this index in the reply in flight.
    #[must_use]
    pub fn call_id(&self, index: u32) -> Option<ToolCallId> {
        self.live.call_id(index)
    }

    fn finish(&mut self, (facts, actions): (Vec<Fact>, Vec<Action>), now: Now) -> Step {
        let is_busy = self.live.compacting().is_some() || live::is_busy(&self.turn);
        self.live.set_busy(is_busy, now);
        Step {
            actions,
            facts,
            wake: self.wake(now),
        }
    }

    /// The earliest of all deadlines.
    fn wake(&self, now: Now) -> Option<MonoTime> {
        let patient_until = || self.live.patience(&self.turn).map(|(until, _)| until);
        if self.live.compacting().is_some() {
            return patient_until();
        }
        match &self.turn.stage {
            Stage::Calling(_) => patient_until(),
            Stage::Ended(_) | Stage::Ready => None,
            Stage::Retrying(at) => Some(now.mono_at(*at)),
            Stage::Tools(_) => {
                let waits = self.turn.waits().map(|wait| now.mono_at(wait.deadline));
                waits.chain(self.live.first_deadline()).min()
            }
        }
    }
}

/// Takes the facts and actions of a decider.
fn decider_parts(decider: Decider<'_>) -> (Vec<Fact>, Vec<Action>) {
    (decider.facts, decider.actions)
}

/// The maximum sleep of a driver before it checks the wall clock again, which may have been set.
pub const MAX_SLEEP: Duration = Duration::from_secs(60);
