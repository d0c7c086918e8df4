//! Tracks the turns in flight, and shuts them down in an orderly way.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::error::EngineError;

/// The turns in flight.
#[derive(Debug, Default)]
pub(crate) struct Shutdown {
    pub(crate) is_draining: AtomicBool,
    /// The turns that keepers resumed.
    pub(crate) keeper_turns: TaskTracker,
    /// The tasks that record written answers in the journal.
    pub(crate) receipts: TaskTracker,
    pub(crate) stop: CancellationToken,
    pub(crate) turns: TaskTracker,
}

impl Shutdown {
    /// Registers a turn that begins or resumes; it is in flight until the token is dropped.
    ///
    /// # Errors
    ///
    /// [`EngineError::Draining`].
    pub(crate) fn track_turn(&self) -> Result<TaskTrackerToken, EngineError> {
        // Counted before the check, so that `drain` either waits for this turn or refuses it.
        let token = self.turns.token();
        if self.is_draining.load(Ordering::SeqCst) {
            return Err(EngineError::Draining);
        }
        Ok(token)
    }

    /// Whether the engine is shutting down: no turn begins.
    pub(crate) fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::SeqCst)
    }

    /// Drives a turn unless all turns are stopped first; `None` if they are. Takes a pinned reference instead
    /// of the future: moving the future in would enlarge the task of every turn.
    pub(crate) async fn unless_stopped<F: Future>(&self, driven: Pin<&mut F>) -> Option<F::Output> {
        self.stop.run_until_cancelled(driven).await
    }
}

/// Aborts tasks, and waits briefly for them to end.
pub(crate) async fn stop(tasks: &mut JoinSet<()>) {
    if tokio::time::timeout(STOPPING, tasks.shutdown())
        .await
        .is_err()
    {
        tracing::warn!("a task does not heed that it was aborted");
    }
}

/// How long aborted tasks have to end.
const STOPPING: Duration = Duration::from_secs(1);
