//! The life of a connection: open, ending, over.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

/// Where a connection is in its life. Cloning shares it.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionLife(watch::Sender<ConnectionPhase>);

#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum ConnectionPhase {
    Open,
    /// The client says nothing more; what it has asked for has a moment.
    Ending,
    Over,
}

impl ConnectionLife {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(ConnectionPhase::Open))
    }

    /// The client says nothing more.
    pub(crate) fn end(&self) {
        self.reach(ConnectionPhase::Ending);
    }

    /// Nobody waits for anything any more.
    pub(crate) fn stop(&self) {
        self.reach(ConnectionPhase::Over);
    }

    /// Waits until it is over.
    pub(crate) async fn over(&self) {
        self.reached(ConnectionPhase::Over).await;
    }

    /// Waits until what the client has asked for has had its moment.
    pub(crate) async fn too_late(&self, grace: Duration) {
        self.reached(ConnectionPhase::Ending).await;
        let _sooner = timeout(grace, self.over()).await;
    }

    fn reach(&self, next: ConnectionPhase) {
        self.0.send_if_modified(|phase| {
            let later = next > *phase;
            *phase = next.max(*phase);
            later
        });
    }

    async fn reached(&self, wanted: ConnectionPhase) {
        let mut phases = self.0.subscribe();
        // The sender is here, so it cannot be gone.
        let _phase = phases.wait_for(|phase| *phase >= wanted).await;
    }
}

/// Ends a life when it is dropped.
pub(crate) struct LifeGuard(pub(crate) ConnectionLife);

impl Drop for LifeGuard {
    fn drop(&mut self) {
        self.0.stop();
    }
}
