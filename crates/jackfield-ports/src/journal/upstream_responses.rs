//! The responses that providers keep, with the clients that they belong to.

use std::sync::Arc;

use async_trait::async_trait;
use jackfield_domain::digest::Digest;
use jackfield_domain::spending_record::SpendingRecord;
use jackfield_domain::time::WallTime;

use super::JournalError;

/// Stores whose the responses are that providers keep, beside the spending records of their requests.
///
/// # Contract
///
/// - `find_upstream_response` MUST return a response, equal, from the moment that it was stored until it is deleted, in
///   every process at once. One that cannot be read, as a later version wrote it, is none.
/// - `store_upstream_response` MUST replace one of the same place. It MUST delete some of those that are over by then, at
///   least two if there are, and MUST NOT delete others.
/// - What was stored MUST be as durable as a committed append.
#[async_trait]
pub trait UpstreamResponses: Send + Sync {
    /// Stores a response, at this time.
    ///
    /// # Errors
    ///
    /// [`JournalError::Unreachable`] if the journal cannot be reached or written. It may be stored then.
    async fn store_upstream_response(
        &self,
        response: &UpstreamResponse,
        now: WallTime,
    ) -> Result<(), JournalError>;

    /// The response of this place. It may be over.
    ///
    /// # Errors
    ///
    /// [`JournalError::Unreachable`] if the journal cannot be read.
    async fn find_upstream_response(
        &self,
        place: &Digest,
    ) -> Result<Option<UpstreamResponse>, JournalError>;
}

/// A response that a provider keeps.
#[derive(Clone, Debug, PartialEq)]
pub struct UpstreamResponse {
    /// When it is forgotten here.
    pub expires: WallTime,
    /// Whether the request ended before the response, so that its usage is not recorded yet.
    pub is_background: bool,
    /// Its model, by the name that the client used.
    pub model: Arc<str>,
    /// Its place; see [`place_of`](Self::place_of).
    pub place: Digest,
    /// The spending record of its request, as it was when the provider named the response: its principal, with the end
    /// user, and the model.
    pub request: SpendingRecord,
}

impl UpstreamResponse {
    /// The place of the response with this id, for any end user of this principal: another principal never finds it.
    #[must_use]
    pub fn place_of(principal: &str, id: &str) -> Digest {
        let principal = principal.split('/').next().unwrap_or_default();
        Digest::of_parts([principal, "upstream response", id])
    }

    /// The place of the batch with this id at a provider, or of the file of its results, for all principals: its results
    /// are counted for the one that created it.
    #[must_use]
    pub fn place_of_batch(provider: &str, id: &str) -> Digest {
        Digest::of_parts([provider, "batch", id])
    }
}
