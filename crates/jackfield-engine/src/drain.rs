//! Shuts an engine down in an orderly way.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::state::Engine;

/// The result of a shutdown.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct DrainReport {
    /// The number of turns that were stopped midway. They stay open in the journal, for recovery.
    pub stopped: usize,
}

impl Engine {
    /// Shuts down: refuses new and resumed turns, waits up to `within` for the turns in flight, and stops the
    /// rest as a crash would. A turn that only waits is not in flight.
    ///
    /// A turn driven by [`send`](Self::send) is waited for, too, but only dropping its future stops it.
    pub async fn drain(&self, within: Duration) -> DrainReport {
        let shutdown = &self.shared.shutdown;
        shutdown.is_draining.store(true, Ordering::SeqCst);
        shutdown.turns.close();
        if tokio::time::timeout(within, shutdown.turns.wait())
            .await
            .is_ok()
        {
            return DrainReport { stopped: 0 };
        }
        let stopped = shutdown.turns.len();
        shutdown.stop.cancel();
        // Dropping a turn aborts its work, so this takes almost no time.
        let _stays = tokio::time::timeout(STOPPING, shutdown.turns.wait()).await;
        DrainReport { stopped }
    }

    /// Waits until the journal has recorded all written answers. Call it before closing the journal; otherwise
    /// these answers count as undelivered.
    pub async fn flush_receipts(&self) {
        let receipts = &self.shared.shutdown.receipts;
        receipts.close();
        receipts.wait().await;
    }

    /// The number of turns in flight: driven, and not only waiting.
    #[must_use]
    pub fn turns_in_flight(&self) -> usize {
        self.shared.shutdown.turns.len()
    }

    /// The number of turns in flight that keepers resumed; keepers limit it themselves.
    #[must_use]
    pub fn keeper_turns_in_flight(&self) -> usize {
        self.shared.shutdown.keeper_turns.len()
    }

    /// Whether the engine is shutting down: no turn begins.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.shared.shutdown.is_draining()
    }
}

/// How long stopped turns are waited for.
const STOPPING: Duration = Duration::from_secs(2);
