//! The use case of sending a message: how a turn begins, and how it is recovered after a crash.

use std::sync::Arc;

use crate::fact::Fact;
use crate::ids::SessionId;
use crate::restrictions::Restrictions;
use crate::session::Session;
use crate::setup::{Opening, Setup, TurnBase};
use crate::target::BreakerSnapshot;
use crate::time::Now;
use crate::tool_loop::{Step, ToolLoop};
use crate::wait::Delivery;

/// Sends a message and gets an answer, in as many rounds as it takes: the only way to a [`ToolLoop`].
#[derive(Clone, Copy, Debug)]
pub struct SendMessageUseCase;

impl SendMessageUseCase {
    /// Begins a turn. See [`ToolLoop`] for what to do with the step.
    pub fn begin(
        base: TurnBase,
        opening: Opening,
        setup: Arc<Setup>,
        now: Now,
    ) -> (ToolLoop, Step) {
        ToolLoop::begin(base, opening, setup, now)
    }

    /// Recovers the open turn of these facts, which another process left; `None` if no turn is open.
    ///
    /// The first fact of the step records the recovery, before any work. Deliveries are consumed before anything
    /// else is decided: an answer that arrived in time wins over an expiry, and a cancel wins over all work.
    /// `breakers` are those of the turn's targets that are not closed.
    pub fn recover<'a>(
        session: &SessionId,
        facts: impl IntoIterator<Item = &'a Fact>,
        deliveries: &[Delivery],
        now: Now,
        restrictions: Restrictions,
        breakers: Vec<BreakerSnapshot>,
    ) -> Option<(ToolLoop, Step)> {
        let folded = Session::fold(session.clone(), facts);
        let turn = folded.open_turn()?.clone();
        Some(ToolLoop::recover_turn(
            session,
            turn,
            deliveries,
            now,
            restrictions,
            breakers,
        ))
    }
}
