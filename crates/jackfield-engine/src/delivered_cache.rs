//! Cache of turns whose answers are delivered, so that identical requests do not reload the session.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hashlink::LruCache;
use jackfield_domain::ids::{SessionId, TurnId};

/// A bounded set of turns whose first answer was written. Entries stay valid: a written answer stays written.
pub(crate) struct DeliveredCache(Mutex<LruCache<(SessionId, TurnId), ()>>);

impl DeliveredCache {
    /// Whether the turn is in the cache.
    pub(crate) fn has(&self, session: &SessionId, turn: &TurnId) -> bool {
        self.turns().get(&(session.clone(), turn.clone())).is_some()
    }

    /// Adds a turn.
    pub(crate) fn add(&self, session: SessionId, turn: TurnId) {
        self.turns().insert((session, turn), ());
    }

    fn turns(&self) -> MutexGuard<'_, LruCache<(SessionId, TurnId), ()>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for DeliveredCache {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(LIMIT)))
    }
}

impl fmt::Debug for DeliveredCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeliveredCache").finish_non_exhaustive()
    }
}

/// The maximum number of entries; the least recently used is evicted, and is then looked up in the journal
/// again.
const LIMIT: usize = 4096;
