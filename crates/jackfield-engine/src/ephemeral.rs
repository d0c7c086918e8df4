//! Sessions in passing: those of a journal that nobody asks later, deleted when nobody needs them any more.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jackfield_domain::ids::{SessionId, TurnId};
use jackfield_ports::journal::JournalError;
use tokio::sync::Notify;

use crate::engine::Engine;
use crate::perform::chain;

/// How long the sessions stay of a journal that keeps none.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Ephemeral {
    /// How long a session stays whose turn is over and whose answer was not written.
    pub after: Duration,
    /// Of how many sessions that is so: of more than these, the one goes whose turn was over first.
    pub most: usize,
    /// How long a turn goes on that nobody listens to.
    pub unheard: Duration,
}

impl Default for Ephemeral {
    fn default() -> Self {
        Self {
            after: Duration::from_secs(120),
            most: 512,
            unheard: Duration::from_secs(10),
        }
    }
}

/// The turns in passing that are over, and whose answers nobody has or is getting: the first to be over first.
#[derive(Debug, Default)]
pub(crate) struct UndeliveredAnswers(Mutex<VecDeque<Arc<Notify>>>);

impl UndeliveredAnswers {
    /// One more; told when it has to go.
    fn enter(&self, most: usize) -> Arc<Notify> {
        let goes = Arc::new(Notify::new());
        let mut known = self.known();
        known.push_back(Arc::clone(&goes));
        if known.len() > most
            && let Some(first) = known.pop_front()
        {
            first.notify_one();
        }
        goes
    }

    fn leave(&self, goes: &Arc<Notify>) {
        self.known().retain(|other| !Arc::ptr_eq(other, goes));
    }

    fn known(&self) -> MutexGuard<'_, VecDeque<Arc<Notify>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Engine {
    /// Deletes a session whose turn is over, if it is one in passing: when its answer was written, or a
    /// while later.
    pub(crate) async fn pass(&self, session: &SessionId, turn: &TurnId) {
        let Some(passing) = self.shared.passing else {
            return;
        };
        let (listening, unwritten) = (&self.shared.listening, &self.shared.unwritten);
        let of_no_use = async {
            if listening.quiet(turn).await {
                return;
            }
            let goes = unwritten.enter(passing.most);
            tokio::select! {
                () = listening.last_written(turn) => {}
                () = goes.notified() => {}
                () = tokio::time::sleep(passing.after) => {}
            }
            unwritten.leave(&goes);
        };
        of_no_use.await;
        listening.forget(turn);
        match self.shared.journal.delete(session).await {
            Ok(()) | Err(JournalError::UnknownSession { .. }) => {}
            Err(error) => {
                let error = chain(&error);
                tracing::warn!(%session, %error, "a session in passing could not be deleted");
            }
        }
    }
}
