//! Where a chat model puts the pieces of a reply as they come.

use async_trait::async_trait;
use jackfield_domain::delta::Delta;
use jackfield_domain::usage::Usage;

/// Takes the pieces of a reply, in order.
#[async_trait]
pub trait DeltaSink: Send {
    /// Takes the next piece. Waits while the reader is behind, so that nothing piles up.
    async fn push(&mut self, delta: Delta);

    /// Takes the provider's own id of this request, where it gives one, before the first piece. It is for the
    /// support of the provider; nothing depends on it.
    async fn request_id(&mut self, _id: &str) {}

    /// Takes what the provider says that the reply has used so far, where it says so before the end: all of
    /// it each time. A reply that breaks off later has its count then.
    async fn count(&mut self, _usage: Usage) {}
}

/// Keeps every piece: for tests, and for callers that want the whole.
#[async_trait]
impl DeltaSink for Vec<Delta> {
    async fn push(&mut self, delta: Delta) {
        Self::push(self, delta);
    }
}
