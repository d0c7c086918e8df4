//! The holds on sessions.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jackfield_domain::ids::SessionId;

/// The number of holds, by session.
#[derive(Clone, Default)]
pub(crate) struct MemoryHolds(Arc<Mutex<HashMap<SessionId, usize>>>);

/// A hold on a session.
pub(crate) struct MemoryHold {
    holds: MemoryHolds,
    session: SessionId,
}

impl MemoryHolds {
    /// Holds a session until the guard is dropped.
    pub(crate) fn hold(&self, session: &SessionId) -> MemoryHold {
        *self.lock().entry(session.clone()).or_default() += 1;
        MemoryHold {
            holds: self.clone(),
            session: session.clone(),
        }
    }

    /// Whether a session is held.
    pub(crate) fn contains(&self, session: &SessionId) -> bool {
        self.lock().contains_key(session)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for MemoryHold {
    fn drop(&mut self) {
        let mut holds = self.holds.lock();
        if let Some(count) = holds.get_mut(&self.session) {
            *count -= 1;
            if *count == 0 {
                holds.remove(&self.session);
            }
        }
    }
}
