//! A gate at which a fake or a response waits for the test.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use tokio::sync::{oneshot, watch};

/// A place at which a fake, or a server's response, waits for the test.
///
/// Clones are the same gate; once open, it stays open.
#[derive(Clone, Debug)]
pub struct Gate {
    open: watch::Sender<bool>,
    reached: watch::Sender<bool>,
}

impl Gate {
    /// A closed gate.
    #[must_use]
    pub fn new() -> Self {
        Self {
            open: watch::Sender::new(false),
            reached: watch::Sender::new(false),
        }
    }

    /// Opens the gate for all present and later waiters.
    pub fn open(&self) {
        self.open.send_replace(true);
    }

    /// Waits until the gate is reached: everything before it has been done or sent.
    ///
    /// # Panics
    ///
    /// If it is not reached within [`TIME_LIMIT`].
    pub async fn reached(&self) {
        let mut reached = self.reached.subscribe();
        with_timeout("somebody to reach a gate", reached.wait_for(|here| *here)).await;
    }

    /// Whether the gate was reached.
    #[must_use]
    pub fn is_reached(&self) -> bool {
        *self.reached.borrow()
    }

    /// Marks the gate as reached, and waits until it is open.
    pub(crate) async fn pass(&self) {
        self.reached.send_replace(true);
        // The sender lives in `self`, so waiting cannot fail.
        let _open = self.open.subscribe().wait_for(|open| *open).await.is_ok();
    }
}

impl Default for Gate {
    fn default() -> Self {
        Self::new()
    }
}

/// The time limit of a gate and of the methods of [`server`](crate::server), after which they fail the test.
///
/// It is real time: a test's paused or advanced clock has no effect on it.
pub const TIME_LIMIT: Duration = Duration::from_secs(10);

/// Awaits an event with a time limit.
pub(crate) async fn with_timeout<'a, T: Copy + 'a>(
    what: &str,
    event: impl Future<Output = Result<watch::Ref<'a, T>, watch::error::RecvError>>,
) -> T {
    let (exhaust, exhausted) = oneshot::channel();
    // Dropped with this future, which ends the thread.
    let (_waiting, waited) = mpsc::channel::<()>();
    thread::spawn(move || {
        if waited.recv_timeout(TIME_LIMIT) == Err(RecvTimeoutError::Timeout) {
            // The waiting future may have been dropped just now.
            let _told = exhaust.send(()).is_ok();
        }
    });
    tokio::select! {
        biased;
        came = event => match came {
            Ok(value) => *value,
            Err(_) => panic!("the other side is gone; waited for {what}"),
        },
        _ = exhausted => panic!("waited {} s for {what}", TIME_LIMIT.as_secs()),
    }
}
