//! How far a turn was driven.

use jackfield_domain::ids::{SessionId, TurnId};
use jackfield_domain::time::WallTime;
use jackfield_domain::tool_loop::ToolLoop;
use jackfield_domain::wait::Wait;

use crate::report::TurnReport;

/// How far a turn was driven.
#[derive(Clone, Debug, PartialEq)]
pub enum DriveOutcome {
    /// To its end.
    Finished(Box<TurnReport>),
    /// Until it only waits for external answers. The session is released; an answer in its inbox is consumed
    /// when the turn is resumed.
    Waiting(WaitingTurn),
}

/// A turn that only waits.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitingTurn {
    /// The session.
    pub session: SessionId,
    /// The turn.
    pub turn: TurnId,
    /// Its waits, in the order of the calls.
    pub waits: Vec<Wait>,
}

impl WaitingTurn {
    pub(crate) fn of(turn: &ToolLoop) -> Self {
        Self {
            session: turn.session().clone(),
            turn: turn.turn().id().clone(),
            waits: turn.turn().waits().cloned().collect(),
        }
    }

    /// When the first of its waits expires.
    #[must_use]
    pub fn next_deadline(&self) -> Option<WallTime> {
        self.waits.iter().map(|wait| wait.deadline).min()
    }
}
