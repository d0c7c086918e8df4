//! Answers that nobody is owed who does not say that it asks again: not to be looked up once more for every
//! request of an equal body.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hashlink::LruCache;
use jackfield_domain::ids::{SessionId, TurnId};

/// Turns of which this is known here, some of them. It stays so: what was written stays written.
pub(crate) struct DeliveredCache(Mutex<LruCache<(SessionId, TurnId), ()>>);

impl DeliveredCache {
    /// Whether it is known of a turn.
    pub(crate) fn has(&self, session: &SessionId, turn: &TurnId) -> bool {
        self.turns().get(&(session.clone(), turn.clone())).is_some()
    }

    /// It is known of this turn.
    pub(crate) fn add(&self, session: SessionId, turn: TurnId) {
        self.turns().insert((session, turn), ());
    }

    fn turns(&self) -> MutexGuard<'_, LruCache<(SessionId, TurnId), ()>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for DeliveredCache {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(MOST)))
    }
}

impl fmt::Debug for DeliveredCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeliveredCache").finish_non_exhaustive()
    }
}

/// How many are kept: those that were asked for last. The journal knows the others.
const MOST: usize = 4096;
