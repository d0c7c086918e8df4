//! The receiver of a chat model's deltas.

use async_trait::async_trait;
use jackfield_domain::delta::Delta;
use jackfield_domain::trace::TraceContext;
use jackfield_domain::usage::Usage;

use crate::credential::Credential;

/// Receives the deltas of a reply, in order.
#[async_trait]
pub trait DeltaSink: Send {
    /// Receives the next delta. Waits while the reader is behind, which bounds memory.
    async fn push(&mut self, delta: Delta);

    /// The server has sent something that is no piece, such as a comment, a ping or the beginning of an event: it is alive.
    async fn alive(&mut self) {}

    /// Receives the provider's id of this request, if it has one, before the first delta. It is for support
    /// requests to the provider; nothing depends on it.
    async fn request_id(&mut self, _id: &str) {}

    /// The trace context for the provider, if there is one: to be sent as the headers `traceparent` and `tracestate`, or
    /// as what the provider has for that.
    fn trace(&self) -> Option<&TraceContext> {
        None
    }

    /// The secret to use in place of the adapter's own key, if the person brings one.
    fn credential(&self) -> Option<&Credential> {
        None
    }

    /// Whether the session of the request is kept in memory alone, so that a provider has nothing to keep for it.
    fn is_ephemeral(&self) -> bool {
        false
    }

    /// Receives the usage of the reply so far, if the provider reports it before the end; each report is the
    /// total. It counts if the reply is interrupted later.
    async fn count(&mut self, _usage: Usage) {}
}

/// Collects all deltas: for tests, and for callers that need the whole reply.
#[async_trait]
impl DeltaSink for Vec<Delta> {
    async fn push(&mut self, delta: Delta) {
        Self::push(self, delta);
    }
}
