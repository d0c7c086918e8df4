//! A gate: where a response waits until the test lets it go on.

use tokio::sync::watch;

use super::patiently;

/// A place in a response at which the server waits for the test. Clones are the same gate.
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

    /// Lets the response go on, now or when it comes here.
    pub fn open(&self) {
        self.open.send_replace(true);
    }

    /// Waits until everything before the gate has been sent.
    ///
    /// # Panics
    ///
    /// If that is not so within [`PATIENCE`](super::PATIENCE).
    pub async fn reached(&self) {
        let mut reached = self.reached.subscribe();
        patiently("a response to reach a gate", reached.wait_for(|here| *here)).await;
    }

    /// The server's side: says that it is here, and waits.
    pub(super) async fn pass(&self) {
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
