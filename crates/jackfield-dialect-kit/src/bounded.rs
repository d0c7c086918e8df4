//! What is remembered within bounds: what was asked for longest ago goes first.

use std::hash::Hash;

use hashlink::LruCache;

/// A memory of so many bytes.
pub(crate) struct Bounded<K, T> {
    /// Of all that is kept.
    bytes: usize,
    kept: LruCache<K, (T, usize)>,
}

/// The most bytes that are kept.
const MOST: usize = 1 << 20;
/// The most bytes of one thing that is kept.
const LONGEST: usize = 1 << 16;

impl<K: Eq + Hash, T: Clone> Bounded<K, T> {
    /// What is kept under this key.
    pub(crate) fn get<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Option<T>
    where
        K: std::borrow::Borrow<Q>,
    {
        self.kept.get(key).map(|(known, _)| known.clone())
    }

    /// Keeps what takes so many bytes, unless those are too many.
    pub(crate) fn keep(&mut self, key: impl FnOnce() -> K, value: T, bytes: usize) {
        if bytes > LONGEST {
            return;
        }
        // Somebody else may have kept the same meanwhile.
        if let Some((_, before)) = self.kept.insert(key(), (value, bytes)) {
            self.bytes -= before;
        }
        self.bytes += bytes;
        while self.bytes > MOST
            && let Some((_, (_, oldest))) = self.kept.remove_lru()
        {
            self.bytes -= oldest;
        }
    }
}

impl<K: Eq + Hash, T> Default for Bounded<K, T> {
    fn default() -> Self {
        Self {
            bytes: 0,
            kept: LruCache::new_unbounded(),
        }
    }
}
