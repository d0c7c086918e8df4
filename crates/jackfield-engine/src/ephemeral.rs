//! Ephemeral sessions: they are in memory, and are deleted once their answer is delivered or expired.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

/// The retention of ephemeral sessions.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Ephemeral {
    /// How long a session is kept whose turn is over and whose answer is undelivered.
    pub retain_for: Duration,
    /// The maximum number of such sessions; beyond it, the session whose turn ended first is deleted.
    pub max_sessions: usize,
    /// How long a turn continues after its last client disconnected.
    pub disconnect_grace: Duration,
}

impl Default for Ephemeral {
    fn default() -> Self {
        Self {
            retain_for: Duration::from_secs(120),
            max_sessions: 512,
            disconnect_grace: Duration::from_secs(10),
        }
    }
}

/// Finished turns of ephemeral sessions with undelivered answers, in the order in which they ended.
#[derive(Debug, Default)]
pub(crate) struct UndeliveredAnswers(Mutex<VecDeque<Arc<Notify>>>);

impl UndeliveredAnswers {
    /// Adds a turn. The returned `Notify` fires when the turn has to be deleted to make room.
    pub(crate) fn push(&self, most: usize) -> Arc<Notify> {
        let evicted = Arc::new(Notify::new());
        let mut queue = self.lock();
        queue.push_back(Arc::clone(&evicted));
        if queue.len() > most
            && let Some(first) = queue.pop_front()
        {
            first.notify_one();
        }
        evicted
    }

    pub(crate) fn remove(&self, evicted: &Arc<Notify>) {
        self.lock().retain(|other| !Arc::ptr_eq(other, evicted));
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<Notify>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
