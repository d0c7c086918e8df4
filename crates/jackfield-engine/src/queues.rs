//! First-in, first-out queues, one per key.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The queues of one kind, by key. An unused queue takes no memory.
#[derive(Debug)]
pub(crate) struct Queues<K>(Mutex<BTreeMap<K, Weak<tokio::sync::Mutex<()>>>>);

impl<K> Default for Queues<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Clone + Ord> Queues<K> {
    /// The queue of this key.
    pub(crate) fn get(&self, key: &K) -> Arc<tokio::sync::Mutex<()>> {
        let mut queues = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(queue) = queues.get(key).and_then(Weak::upgrade) {
            return queue;
        }
        queues.retain(|_, queue| queue.strong_count() > 0);
        let queue = Arc::default();
        queues.insert(key.clone(), Arc::downgrade(&queue));
        queue
    }
}
