//! Whether the journal takes what is written, as it was seen last.

use std::sync::atomic::{AtomicBool, Ordering};

/// How the last attempt to write to the journal ended, whichever session it was for.
#[derive(Debug, Default)]
pub(crate) struct Writes {
    fail: AtomicBool,
}

impl Writes {
    /// An attempt failed because of the journal.
    pub(crate) fn failed(&self) {
        self.fail.store(true, Ordering::Relaxed);
    }

    /// The journal did what it was asked.
    pub(crate) fn went_well(&self) {
        // Nearly always it did before, too, and what nobody writes need not move between processors.
        if self.fail() {
            self.fail.store(false, Ordering::Relaxed);
        }
    }

    /// Whether the last one failed.
    pub(crate) fn fail(&self) -> bool {
        self.fail.load(Ordering::Relaxed)
    }
}
