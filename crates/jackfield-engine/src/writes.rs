//! Write health: whether the journal accepted the last write.

use std::fmt::{self, Write as _};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use jackfield_ports::journal::Append;
use tokio::sync::Notify;

/// The result of the last write to the journal, for any session.
#[derive(Debug, Default)]
pub(crate) struct WriteHealth {
    is_failing: AtomicBool,
    /// Notified when writes begin to fail.
    failure_started: Notify,
    /// The size of the largest append that failed since one as large was possible, in bytes.
    lacking: AtomicUsize,
}

impl WriteHealth {
    /// Records a write that failed because of the journal.
    pub(crate) fn record_failure(&self) {
        if !self.is_failing.swap(true, Ordering::SeqCst) {
            self.failure_started.notify_waiters();
        }
    }

    /// Records an append that failed because of the journal.
    pub(crate) fn record_failed(&self, append: &Append) {
        let size = size(append).min(MAX_LACKING);
        self.lacking.fetch_max(size, Ordering::SeqCst);
        self.record_failure();
    }

    /// Records that a write of this size is possible.
    pub(crate) fn record_room(&self, size: usize) {
        let enough = |lacking| (lacking <= size).then_some(0);
        let _larger = self
            .lacking
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, enough);
    }

    /// The size of the largest append that failed since one as large was possible, in bytes; zero if none did.
    pub(crate) fn lacking(&self) -> usize {
        self.lacking.load(Ordering::SeqCst)
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

/// The most that can lack: a larger append may fail for what it is, whatever the room.
const MAX_LACKING: usize = 16 << 20;

/// The size of an append, written out, which is not less than what a store writes.
fn size(append: &Append) -> usize {
    struct Counter(usize);
    impl fmt::Write for Counter {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0 = self.0.saturating_add(text.len());
            Ok(())
        }
    }
    let mut counter = Counter(0);
    // It takes everything.
    let _taken = write!(counter, "{:?}", append.steps);
    counter.0
}
