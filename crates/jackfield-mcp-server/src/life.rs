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
    Closed,
}

impl ConnectionLife {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(ConnectionPhase::Open))
    }

    /// Marks the input as ended.
    pub(crate) fn end_input(&self) {
        self.advance(ConnectionPhase::Ending);
    }

    /// Marks the connection as over.
    pub(crate) fn close(&self) {
        self.advance(ConnectionPhase::Closed);
    }

    /// Waits until the connection is over.
    pub(crate) async fn closed(&self) {
        self.wait_for(ConnectionPhase::Closed).await;
    }

    /// Waits until the grace period of calls in flight has passed, or the connection is over.
    pub(crate) async fn grace_expired(&self, grace: Duration) {
        self.wait_for(ConnectionPhase::Ending).await;
        let _sooner = timeout(grace, self.closed()).await;
    }

    fn advance(&self, next: ConnectionPhase) {
        self.0.send_if_modified(|phase| {
            let later = next > *phase;
            *phase = next.max(*phase);
            later
        });
    }

    async fn wait_for(&self, target: ConnectionPhase) {
        let mut phases = self.0.subscribe();
        // This value owns a sender, so the channel cannot be closed.
        let _phase = phases.wait_for(|phase| *phase >= target).await;
    }
}

impl Default for ConnectionLife {
    fn default() -> Self {
        Self::new()
    }
}

/// Ends the connection when it is dropped.
pub(crate) struct LifeGuard(pub(crate) ConnectionLife);

impl Drop for LifeGuard {
    fn drop(&mut self) {
        self.0.close();
    }
}
