//! Locks by key, such as a session or an idempotency key.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::OwnedMutexGuard;

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
