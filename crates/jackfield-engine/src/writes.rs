//! Write health: whether the journal accepted the last write.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// The result of the last write to the journal, for any session.
#[derive(Debug, Default)]
pub(crate) struct WriteHealth {
    fail: AtomicBool,
    /// Notified when writes begin to fail.
    failing: Notify,
}

impl WriteHealth {
    /// Records a write that failed because of the journal.
    pub(crate) fn failed(&self) {
        if !self.fail.swap(true, Ordering::SeqCst) {
            self.failing.notify_waiters();
        }
    }

    /// Records a successful write.
    pub(crate) fn went_well(&self) {
        // Nearly always a no-op; without the store, the cache line stays shared between processors.
        if self.fail() {
            self.fail.store(false, Ordering::SeqCst);
        }
    }

    /// Whether the last write failed.
    pub(crate) fn fail(&self) -> bool {
        self.fail.load(Ordering::SeqCst)
    }

    /// Waits until a write fails; returns at once if the last one failed.
    pub(crate) async fn failing(&self) {
        loop {
            let mut begins = pin!(self.failing.notified());
            // Registered before the check, so that no failure is missed in between.
            begins.as_mut().enable();
            if self.fail() {
                return;
            }
            begins.await;
        }
    }
}
