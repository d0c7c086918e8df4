//! The use case of sending a message, which begins a turn.

use std::sync::Arc;

use crate::approval::Grants;
use crate::ids::SessionId;
use crate::message::Message;
use crate::setup::{Opening, Setup};
use crate::time::Now;
use crate::tool_loop::{Step, ToolLoop};

/// The basis of a turn.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnBase {
    /// The grants of the session; they become part of the setup.
    pub grants: Grants,
    /// The messages before it.
    pub messages: Arc<Vec<Arc<Message>>>,
    /// The turn's place in the session, from 1.
    pub ordinal: u32,
    /// The session.
    pub session: SessionId,
}

/// Sends a message and gets an answer, in as many rounds as it takes.
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
}
