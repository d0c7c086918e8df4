//! A gate: where a fake or a response waits until the test lets it go on.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use tokio::sync::{oneshot, watch};

/// A place at which a fake, or the server within a response, waits for the test.
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

    /// Lets whoever waits here go on, now or when it comes.
    pub fn open(&self) {
        self.open.send_replace(true);
    }

    /// Waits until somebody has come here: all that stands before the gate has been done or sent.
    ///
    /// # Panics
    ///
    /// If nobody comes within [`PATIENCE`].
    pub async fn reached(&self) {
        let mut reached = self.reached.subscribe();
        patiently("somebody to reach a gate", reached.wait_for(|here| *here)).await;
    }

    /// Whether somebody has come here.
    #[must_use]
    pub fn is_reached(&self) -> bool {
        *self.reached.borrow()
    }

    /// The other side: says that it is here, and waits.
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

/// How long a gate and the methods of [`server`](crate::server) wait, before they fail the test.
///
/// It is time of the machine: a clock that a test has paused, or moves on, makes nobody impatient.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Waits for something that has to come.
pub(crate) async fn patiently<'a, T: Copy + 'a>(
    what: &str,
    event: impl Future<Output = Result<watch::Ref<'a, T>, watch::error::RecvError>>,
) -> T {
    let (exhaust, exhausted) = oneshot::channel();
    // Dropped with this future, which ends the thread.
    let (_waiting, waited) = mpsc::channel::<()>();
    thread::spawn(move || {
        if waited.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
            // Whoever waited may have gone at this moment.
            let _told = exhaust.send(()).is_ok();
        }
    });
    tokio::select! {
        biased;
        came = event => match came {
            Ok(value) => *value,
            Err(_) => panic!("the other side is gone; waited for {what}"),
        },
        _ = exhausted => panic!("waited {} s for {what}", PATIENCE.as_secs()),
    }
}
