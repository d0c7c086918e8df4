//! Sessions in passing: those of a journal that nobody asks later, deleted when nobody needs them any more.

use std::time::Duration;

use jackfield_domain::ids::{SessionId, TurnId};
use jackfield_ports::journal::JournalError;

use crate::engine::Engine;
use crate::perform::chain;

/// How long the sessions stay of a journal that keeps none.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Passing {
    /// How long a session stays whose turn is over and whose answer was not written.
    pub after: Duration,
    /// How long a turn goes on that nobody listens to.
    pub unheard: Duration,
}

impl Default for Passing {
    fn default() -> Self {
        Self {
            after: Duration::from_secs(120),
            unheard: Duration::from_secs(10),
        }
    }
}

impl Engine {
    /// Deletes a session whose turn is over, if it is one in passing: when its answer was written, or a
    /// while later.
    pub(crate) async fn pass(&self, session: &SessionId, turn: &TurnId) {
        let Some(passing) = self.shared.passing else {
            return;
        };
        let written = self.shared.listening.last_written(turn);
        let _unwritten = tokio::time::timeout(passing.after, written).await;
        self.shared.listening.forget(turn);
        match self.shared.journal.delete(session).await {
            Ok(()) | Err(JournalError::UnknownSession { .. }) => {}
            Err(error) => {
                let error = chain(&error);
                tracing::warn!(%session, %error, "a session in passing could not be deleted");
            }
        }
    }
}
