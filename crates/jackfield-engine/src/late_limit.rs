//! The limit on late outcomes in flight.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Limits the late outcomes in flight.
#[derive(Debug)]
pub(crate) struct LateLimit(Arc<Semaphore>);

impl Default for LateLimit {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MAX_AT_ONCE)))
    }
}

impl LateLimit {
    /// A permit for one outcome, if the limit allows it.
    pub(crate) fn try_acquire(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.0).try_acquire_owned().ok()
    }
}

/// The maximum number of late outcomes in flight.
const MAX_AT_ONCE: usize = 64;
