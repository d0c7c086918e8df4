//! Where a chat model puts the pieces of a reply as they come.

use async_trait::async_trait;
use jackfield_domain::delta::Delta;

/// Takes the pieces of a reply, in order.
#[async_trait]
pub trait DeltaSink: Send {
    /// Takes the next piece. Waits while the reader is behind, so that nothing piles up.
    async fn push(&mut self, delta: Delta);
}

/// Keeps every piece: for tests, and for callers that want the whole.
#[async_trait]
impl DeltaSink for Vec<Delta> {
    async fn push(&mut self, delta: Delta) {
        Self::push(self, delta);
    }
}
