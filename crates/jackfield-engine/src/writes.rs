//! Write health: whether the journal accepted the last write.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// The result of the last write to the journal, for any session.
#[derive(Debug, Default)]
pub(crate) struct WriteHealth {
    is_failing: AtomicBool,
    /// Notified when writes begin to fail.
    failure_started: Notify,
}

impl WriteHealth {
    /// Records a write that failed because of the journal.
    pub(crate) fn record_failure(&self) {
        if !self.is_failing.swap(true, Ordering::SeqCst) {
            self.failure_started.notify_waiters();
        }
    }

    /// Records a successful write.
    pub(crate) fn record_success(&self) {
        // Nearly always a no-op; without the store, the cache line stays shared between processors.
        if self.is_failing() {
            self.is_failing.store(false, Ordering::SeqCst);
        }
    }

    /// Whether the last write failed.
    pub(crate) fn is_failing(&self) -> bool {
        self.is_failing.load(Ordering::SeqCst)
    }

    /// Waits until a write fails; returns at once if the last one failed.
    pub(crate) async fn wait_for_failure(&self) {
        loop {
            let mut begins = pin!(self.failure_started.notified());
            // Registered before the check, so that no failure is missed in between.
            begins.as_mut().enable();
            if self.is_failing() {
                return;
            }
            begins.await;
        }
    }
}
