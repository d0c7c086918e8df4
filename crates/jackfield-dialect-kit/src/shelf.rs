//! What clients said before, as it was read then: every request of a client brings all its tools again.

use std::fmt;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use crate::bounded::Bounded;

/// What texts were read as, by the very text. Made for a `static`: reading is a function of the text alone,
/// so it does not matter who said it. Keeps what was asked for last, of a megabyte of texts.
pub struct Shelf<T>(LazyLock<Mutex<Bounded<Box<str>, T>>>);

impl<T: Clone> Shelf<T> {
    /// An empty one.
    #[must_use]
    pub const fn new() -> Self {
        Self(LazyLock::new(Mutex::default))
    }

    /// What this text was read as, or is read as now. What cannot be read is not kept.
    ///
    /// # Errors
    ///
    /// Those of `read`.
    pub fn read<E>(&self, text: &str, read: impl FnOnce(&str) -> Result<T, E>) -> Result<T, E> {
        if let Some(known) = self.kept().get(text) {
            return Ok(known);
        }
        let value = read(text)?;
        self.kept().keep(|| text.into(), value.clone(), text.len());
        Ok(value)
    }

    fn kept(&self) -> MutexGuard<'_, Bounded<Box<str>, T>> {
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
