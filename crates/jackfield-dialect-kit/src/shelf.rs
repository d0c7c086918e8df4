//! What clients said before, as it was read then: every request of a client brings all its tools again.

use std::fmt;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use hashlink::LruCache;

/// What texts were read as, by the very text. Made for a `static`: reading is a function of the text alone,
/// so it does not matter who said it.
pub struct Shelf<T>(LazyLock<Mutex<Kept<T>>>);

struct Kept<T> {
    /// Of all texts, in bytes.
    bytes: usize,
    read: LruCache<Box<str>, T>,
}

/// The most bytes of texts that are kept: what was asked for longest ago goes first.
const MOST: usize = 1 << 20;
/// The longest text that is kept.
const LONGEST: usize = 1 << 16;

impl<T: Clone> Shelf<T> {
    /// An empty one.
    #[must_use]
    pub const fn new() -> Self {
        Self(LazyLock::new(|| {
            Mutex::new(Kept {
                bytes: 0,
                read: LruCache::new_unbounded(),
            })
        }))
    }

    /// What this text was read as, or is read as now. What cannot be read is not kept.
    ///
    /// # Errors
    ///
    /// Those of `read`.
    pub fn read<E>(&self, text: &str, read: impl FnOnce(&str) -> Result<T, E>) -> Result<T, E> {
        if let Some(known) = self.kept().read.get(text) {
            return Ok(known.clone());
        }
        let value = read(text)?;
        if text.len() <= LONGEST {
            let mut kept = self.kept();
            // Somebody else may have read the same meanwhile.
            if kept.read.insert(text.into(), value.clone()).is_none() {
                kept.bytes += text.len();
            }
            while kept.bytes > MOST
                && let Some((oldest, _)) = kept.read.remove_lru()
            {
                kept.bytes -= oldest.len();
            }
        }
        Ok(value)
    }

    fn kept(&self) -> MutexGuard<'_, Kept<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Clone> Default for Shelf<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for Shelf<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shelf").finish_non_exhaustive()
    }
}
