//! The life of a connection: open, ending, over.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

/// Where a connection is in its life. Cloning shares it.
#[derive(Clone, Debug)]
pub(crate) struct Life(watch::Sender<Phase>);

#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Phase {
    Open,
    /// The client says nothing more; what it has asked for has a moment.
    Ending,
    Over,
}

impl Life {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(Phase::Open))
    }

    /// The client says nothing more.
    pub(crate) fn end(&self) {
        self.reach(Phase::Ending);
    }

    /// Nobody waits for anything any more.
    pub(crate) fn stop(&self) {
        self.reach(Phase::Over);
    }

    /// Waits until it is over.
    pub(crate) async fn over(&self) {
        self.reached(Phase::Over).await;
    }

    /// Waits until what the client has asked for has had its moment.
    pub(crate) async fn too_late(&self, grace: Duration) {
        self.reached(Phase::Ending).await;
        let _sooner = timeout(grace, self.over()).await;
    }

    fn reach(&self, next: Phase) {
        self.0.send_if_modified(|phase| {
            let later = next > *phase;
            *phase = next.max(*phase);
            later
        });
    }

    async fn reached(&self, wanted: Phase) {
        let mut phases = self.0.subscribe();
        // The sender is here, so it cannot be gone.
        let _phase = phases.wait_for(|phase| *phase >= wanted).await;
    }
}

/// Ends a life when it is dropped.
pub(crate) struct LastWord(pub(crate) Life);

impl Drop for LastWord {
    fn drop(&mut self) {
        self.0.stop();
    }
}
