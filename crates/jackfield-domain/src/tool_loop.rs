//! The loop: a machine that decides everything about a turn and does nothing.
//!
//! The contract, in a sentence: **commit a step's facts, then perform its actions, then tell**, and
//! feed what comes of the actions back in, one input at a time.
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
//! Durable state changes only by folding facts ([`Turn::apply`]), live and on recovery alike. There
//! is no clock, no randomness and no I/O in here, and no failure: late answers become late facts,
//! impossible ones change nothing, and nothing panics.

use std::sync::Arc;
use std::time::Duration;

use crate::fact::Fact;
use crate::ids::{ModelAttempt, SessionId, ToolCallId, TurnId};
use crate::send_message::TurnBase;
use crate::setup::{Opening, Setup};
use crate::time::{MonoTime, Now};
use crate::turn::{Stage, Turn};

mod action;
mod approvals;
mod calls;
mod cancel;
mod decider;
mod error_texts;
mod input;
mod live;
mod recover;
mod replies;
mod rounds;
mod waits;

pub use self::action::Action;
use self::decider::Decider;
pub(crate) use self::error_texts::edited_arguments;
pub use self::input::Input;
pub(crate) use self::live::LiveState;
pub use crate::restrictions::{Restriction, Restrictions};

/// The version of the rules by which the loop decides. Another one may decide a replayed step differently.
pub const LOOP_VERSION: u32 = 3;

/// What the loop answers to an input.
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use = "a step that is not committed and performed is lost work"]
pub struct Step {
    /// To be performed, in order, once the facts are committed.
    pub actions: Vec<Action>,
    /// To be committed before anything else, as one.
    pub facts: Vec<Fact>,
    /// When to feed [`Input::Woke`] if nothing else comes first. May come early, even often.
    pub wake: Option<MonoTime>,
}

/// One turn, alive.
///
/// Methods: [`handle`](Self::handle) takes what has happened; all others are plain getters.
#[derive(Clone, Debug)]
pub struct ToolLoop {
    live: LiveState,
    session: SessionId,
    turn: Turn,
}

impl ToolLoop {
    /// The turn that begins with this opening, and its first step.
    pub(crate) fn begin(
        base: TurnBase,
        opening: Opening,
        setup: Arc<Setup>,
        now: Now,
    ) -> (Self, Step) {
        let TurnBase {
            grants,
            messages,
            ordinal,
            session,
        } = base;
        let setup = match grants.applied(&setup.catalog) {
            Some(catalog) => Arc::new(Setup {
                catalog: Arc::new(catalog),
                ..Setup::clone(&setup)
            }),
            None => setup,
        };
        let id = TurnId::derive(&session, ordinal);
        let turn = Turn::open(id.clone(), ordinal, &messages, &opening, &setup);
        let mut begun = Self {
            live: LiveState::default(),
            session,
            turn,
        };
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

    /// The turn as a record says that it stood, to be told again what came next.
    pub(crate) const fn standing(session: SessionId, turn: Turn, live: LiveState) -> Self {
        Self {
            live,
            session,
            turn,
        }
    }

    /// Takes what has happened, and says what is to be done.
    pub fn handle(&mut self, input: Input, now: Now) -> Step {
        self.live.pass_time(now);
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

    /// The durable state: what folding all facts so far gives.
    #[must_use]
    pub const fn turn(&self) -> &Turn {
        &self.turn
    }

    /// Whether the turn has ended.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.turn.end().is_some()
    }

    /// The try at a model call that is under way, if one is.
    #[must_use]
    pub const fn calling(&self) -> Option<ModelAttempt> {
        match &self.turn.stage {
            Stage::Calling(attempt) => Some(*attempt),
            Stage::Ended(_) | Stage::Ready | Stage::Retrying(_) | Stage::Tools(_) => None,
        }
    }

    /// Whether the turn only waits for somebody outside: nothing runs, nothing is scheduled.
    #[must_use]
    pub fn only_waits(&self) -> bool {
        self.turn.only_waits()
    }

    /// The id of the tool call that began last under this number in the reply under way.
    #[must_use]
    pub fn call_id(&self, index: u32) -> Option<ToolCallId> {
        self.live.call_id(index)
    }

    fn finish(&mut self, (facts, actions): (Vec<Fact>, Vec<Action>), now: Now) -> Step {
        self.live.set_busy(live::is_busy(&self.turn), now);
        Step {
            actions,
            facts,
            wake: self.wake(now),
        }
    }

    /// The earliest of all deadlines.
    fn wake(&self, now: Now) -> Option<MonoTime> {
        match &self.turn.stage {
            Stage::Calling(_) => self
                .live
                .heard()
                .map(|heard| heard.after(self.turn.setup.model_idle())),
            Stage::Ended(_) | Stage::Ready => None,
            Stage::Retrying(at) => Some(now.mono_at(*at)),
            Stage::Tools(_) => {
                let waits = self.turn.waits().map(|wait| now.mono_at(wait.deadline));
                waits.chain(self.live.first_deadline()).min()
            }
        }
    }
}

/// Takes what a decider has collected.
fn decider_parts(decider: Decider<'_>) -> (Vec<Fact>, Vec<Action>) {
    (decider.facts, decider.actions)
}

/// How long a driver sleeps at most before it looks at the wall clock again, which may have been set.
pub const LONGEST_SLEEP: Duration = Duration::from_secs(60);
