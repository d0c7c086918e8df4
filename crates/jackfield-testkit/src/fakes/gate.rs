//! A gate: where a fake waits until the test lets it go on.

use tokio::sync::watch;

/// A place at which a fake waits for the test. Clones are the same gate; once open, it stays open.
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

    /// Lets the fake go on, now or when it comes here.
    pub fn open(&self) {
        self.open.send_replace(true);
    }

    /// Waits until the fake has come here.
    pub async fn reached(&self) {
        // The sender lives in `self`, so waiting cannot fail.
        let _here = self
            .reached
            .subscribe()
            .wait_for(|here| *here)
            .await
            .is_ok();
    }

    /// Whether the fake has come here.
    #[must_use]
    pub fn is_reached(&self) -> bool {
        *self.reached.borrow()
    }

    /// The fake's side: says that it is here, and waits.
    pub(super) async fn pass(&self) {
        self.reached.send_replace(true);
        let _open = self.open.subscribe().wait_for(|open| *open).await.is_ok();
    }
}

impl Default for Gate {
    fn default() -> Self {
        Self::new()
    }
}
