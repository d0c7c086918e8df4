//! Ephemeral sessions: sessions of an in-memory journal that are deleted once their answer is delivered or
//! expired.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jackfield_domain::ids::{SessionId, TurnId};
use jackfield_ports::journal::JournalError;
use tokio::sync::Notify;

use crate::engine::Engine;
use crate::perform::chain;

/// The retention of ephemeral sessions.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Ephemeral {
    /// How long a session is kept whose turn is over and whose answer is undelivered.
    pub after: Duration,
    /// The maximum number of such sessions; beyond it, the session whose turn ended first is deleted.
    pub most: usize,
    /// How long a turn continues after its last client disconnected.
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

/// Finished turns of ephemeral sessions with undelivered answers, in the order in which they ended.
#[derive(Debug, Default)]
pub(crate) struct UndeliveredAnswers(Mutex<VecDeque<Arc<Notify>>>);

impl UndeliveredAnswers {
    /// Adds a turn. The returned `Notify` fires when the turn has to be deleted to make room.
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
    /// Deletes an ephemeral session whose turn is over, once its answer was written or has expired. Does
    /// nothing for durable sessions.
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
