//! The lifecycle of a connection: open, ending, over.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

/// The phase of a connection. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionLife(watch::Sender<ConnectionPhase>);

#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum ConnectionPhase {
    Open,
    /// The input has ended; calls in flight have a grace period.
    Ending,
    Over,
}

impl ConnectionLife {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(ConnectionPhase::Open))
    }

    /// Marks the input as ended.
    pub(crate) fn end(&self) {
        self.reach(ConnectionPhase::Ending);
    }

    /// Marks the connection as over.
    pub(crate) fn stop(&self) {
        self.reach(ConnectionPhase::Over);
    }

    /// Waits until the connection is over.
    pub(crate) async fn over(&self) {
        self.reached(ConnectionPhase::Over).await;
    }

    /// Waits until the grace period of calls in flight has passed, or the connection is over.
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
        // This value owns a sender, so the channel cannot be closed.
        let _phase = phases.wait_for(|phase| *phase >= wanted).await;
    }
}

/// Ends the connection when it is dropped.
pub(crate) struct LifeGuard(pub(crate) ConnectionLife);

impl Drop for LifeGuard {
    fn drop(&mut self) {
        self.0.stop();
    }
}
