//! Whether the journal takes what is written, as it was seen last.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// How the last attempt to write to the journal ended, whichever session it was for.
#[derive(Debug, Default)]
pub(crate) struct WriteHealth {
    fail: AtomicBool,
    /// Notified when they begin to fail.
    failing: Notify,
}

impl WriteHealth {
    /// An attempt failed because of the journal.
    pub(crate) fn failed(&self) {
        if !self.fail.swap(true, Ordering::SeqCst) {
            self.failing.notify_waiters();
        }
    }

    /// The journal did what it was asked.
    pub(crate) fn went_well(&self) {
        // Nearly always it did before, too, and what nobody writes need not move between processors.
        if self.fail() {
            self.fail.store(false, Ordering::SeqCst);
        }
    }

    /// Whether the last one failed.
    pub(crate) fn fail(&self) -> bool {
        self.fail.load(Ordering::SeqCst)
    }

    /// Waits until one fails, if the last one did not.
    pub(crate) async fn failing(&self) {
        loop {
            let mut begins = pin!(self.failing.notified());
            // Registered before the look, so that no failure is missed in between.
            begins.as_mut().enable();
            if self.fail() {
                return;
            }
            begins.await;
        }
    }
}
