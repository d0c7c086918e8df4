//! Violations of the rules at a fake: recorded, and reported when the test's handle is dropped.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The violations of one fake. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Rulebook {
    violations: Arc<Mutex<Vec<String>>>,
}

impl Rulebook {
    /// Records a violation.
    pub(super) fn record(&self, how: impl Into<String>) {
        locked(&self.violations).push(how.into());
    }

    /// The violations so far.
    pub(super) fn violations(&self) -> Vec<String> {
        locked(&self.violations).clone()
    }

    /// Takes the violations, for a test that expects them.
    pub(super) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *locked(&self.violations))
    }

    /// Fails the test if there are any, unless it fails already.
    pub(super) fn assert_empty(&self, fake: &str) {
        let violations = self.violations();
        if !violations.is_empty() && !std::thread::panicking() {
            panic!("{fake}: {}", violations.join("; "));
        }
    }
}

/// Locks, ignoring poisoning: a fake's state is consistent between its lines.
pub(super) fn locked<T>(state: &Mutex<T>) -> MutexGuard<'_, T> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
