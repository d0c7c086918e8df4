//! The turns that are under way here, and the orderly end of them all.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::engine::Engine;
use crate::error::EngineError;

/// The turns that are under way.
#[derive(Debug, Default)]
pub(crate) struct Shutdown {
    is_draining: AtomicBool,
    /// Those of the turns that a keeper took up.
    pub(crate) kept: TaskTracker,
    /// What is still to be kept of answers that were written whole.
    pub(crate) receipts: TaskTracker,
    stop: CancellationToken,
    turns: TaskTracker,
}

impl Shutdown {
    /// Lets a turn begin, or go on; it is under way until what this gives is dropped.
    ///
    /// # Errors
    ///
    /// [`EngineError::Draining`].
    pub(crate) fn enter(&self) -> Result<TaskTrackerToken, EngineError> {
        // Counted first: whoever drains sees it, or is seen by it.
        let token = self.turns.token();
        if self.is_draining.load(Ordering::SeqCst) {
            return Err(EngineError::Draining);
        }
        Ok(token)
    }

    /// Whether no turn begins any more.
    pub(crate) fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::SeqCst)
    }

    /// Drives a turn unless everything is stopped before; `None` if it is. What drives it stays where it is:
    /// each hand that it went through would be room for it in the task of every turn.
    pub(crate) async fn unless_stopped<F: Future>(&self, driven: Pin<&mut F>) -> Option<F::Output> {
        self.stop.run_until_cancelled(driven).await
    }
}

/// How the turns ended that were under way.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct DrainReport {
    /// How many were stopped on their way. They stay open in their journal, for whoever recovers them.
    pub stopped: usize,
}

impl Engine {
    /// Lets no turn begin or go on any more, waits this long for those that are under way, and stops the
    /// rest. To those, the stop is what a crash is. A turn that only waits is not under way.
    ///
    /// A turn that [`send`](Self::send) drives is waited for, and stopped only by dropping that.
    pub async fn drain(&self, within: Duration) -> DrainReport {
        let going = &self.shared.going;
        going.is_draining.store(true, Ordering::SeqCst);
        going.turns.close();
        if tokio::time::timeout(within, going.turns.wait())
            .await
            .is_ok()
        {
            return DrainReport { stopped: 0 };
        }
        let stopped = going.turns.len();
        going.stop.cancel();
        // What they have in hand is aborted when they are dropped, which takes no time by itself.
        let _stays = tokio::time::timeout(STOPPING, going.turns.wait()).await;
        DrainReport { stopped }
    }

    /// Waits until the journal knows of every answer that it was written whole: before it is closed, as such an
    /// answer would be owed again.
    pub async fn settle(&self) {
        let receipts = &self.shared.going.receipts;
        receipts.close();
        receipts.wait().await;
    }

    /// How many turns are under way here: driven, and not only waiting.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.shared.going.turns.len()
    }

    /// How many of those were taken up by a keeper, which bounds them by itself.
    #[must_use]
    pub fn kept_under_way(&self) -> usize {
        self.shared.going.kept.len()
    }

    /// Whether the engine is being drained: no turn begins any more.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.shared.going.is_draining()
    }
}

/// How long turns that are stopped are waited for.
const STOPPING: Duration = Duration::from_secs(2);
