//! Locks by key, such as a session or an idempotency key, within this process, and the wait for other processes.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use jackfield_dialect_kit::serve::ServeError;
use tokio::sync::OwnedMutexGuard;
use tokio::time::Instant;

use crate::failures;

/// A lock for each key. An unused lock takes no memory.
#[derive(Debug)]
pub(crate) struct KeyLocks<K>(Mutex<HashMap<K, Weak<tokio::sync::Mutex<()>>>>);

impl<K> Default for KeyLocks<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Clone + Eq + Hash> KeyLocks<K> {
    /// Waits until no other caller holds the lock of this key.
    pub(crate) fn lock(&self, key: &K) -> impl Future<Output = OwnedMutexGuard<()>> + use<K> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, mutex| mutex.strong_count() > 0);
        let there = known.get(key).and_then(Weak::upgrade);
        let mutex: Arc<tokio::sync::Mutex<()>> = there.unwrap_or_else(|| {
            let new = Arc::default();
            known.insert(key.clone(), Arc::downgrade(&new));
            new
        });
        mutex.lock_owned()
    }
}

/// The wait of a request with an idempotency key that was overtaken in its session: another process may be about to
/// begin the turn of the key.
#[derive(Debug, Default)]
pub struct OvertakenWait(Option<(u32, Instant)>);

impl OvertakenWait {
    /// Waits for a moment. Look for the turn of the key then, and if there is none, try again to begin it.
    ///
    /// # Errors
    ///
    /// [`ServeErrorKind::Unavailable`](jackfield_dialect_kit::serve::ServeErrorKind::Unavailable) if the session has had
    /// this number of turns for 15 seconds: the other process begins none, and still has the session.
    pub async fn pause(&mut self, turns: u32) -> Result<(), ServeError> {
        let now = Instant::now();
        let (known, since) = self.0.get_or_insert((turns, now));
        if *known != turns {
            (*known, *since) = (turns, now);
        }
        if since.elapsed() >= KEY_LIMIT {
            return Err(failures::begins_elsewhere());
        }
        tokio::time::sleep(KEY_POLL).await;
        Ok(())
    }
}

/// Longer than the default lease. Where the lease is longer, and the other process was lost before it began the turn, the
/// client has to come again.
const KEY_LIMIT: Duration = Duration::from_secs(15);
const KEY_POLL: Duration = Duration::from_millis(50);
