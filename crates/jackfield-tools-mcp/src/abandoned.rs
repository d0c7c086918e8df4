//! Abandoned requests, their cancellations, and handlers for answers that still arrive.
//!
//! The server gets a cancellation when a request is dropped, but often answers all the same: the work was already
//! done, or the server ignores cancellations. `rmcp` has forgotten the request by then, so this table is consulted
//! first.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use jackfield_ports::toolbox::LATE_OUTCOME_LIMIT;
use rmcp::model::RequestId;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use crate::answer::{RequestError, RpcAnswer};

/// Handles the answer to one abandoned request.
pub(crate) struct LateReply(Box<dyn FnOnce(Result<RpcAnswer, RequestError>) + Send + Sync>);

impl LateReply {
    pub(crate) fn new(
        handler: impl FnOnce(Result<RpcAnswer, RequestError>) + Send + Sync + 'static,
    ) -> Self {
        Self(Box::new(handler))
    }

    pub(crate) fn handle(self, answer: Result<RpcAnswer, RequestError>) {
        (self.0)(answer);
    }
}

impl fmt::Debug for LateReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LateReply")
    }
}

/// The abandoned requests of one connection, the oldest first; bounded in number and in age.
#[derive(Debug, Default)]
pub(crate) struct AbandonedRequests {
    cancellations: TaskTracker,
    entries: Mutex<VecDeque<AbandonedRequest>>,
}

#[derive(Debug)]
struct AbandonedRequest {
    late_reply: LateReply,
    id: RequestId,
    until: Instant,
}

impl AbandonedRequests {
    /// The tasks that send cancellations. The connection stays open until they have ended, or a time limit has.
    pub(crate) const fn cancellations(&self) -> &TaskTracker {
        &self.cancellations
    }

    /// Adds an abandoned request. Above the limit the oldest ones are dropped.
    pub(crate) fn add(&self, id: RequestId, late_reply: LateReply) {
        let now = Instant::now();
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|entry| entry.until > now);
        if entries.len() >= LIMIT {
            entries.pop_front();
        }
        entries.push_back(AbandonedRequest {
            late_reply,
            id,
            until: now + LATE_OUTCOME_LIMIT,
        });
    }

    /// Removes and returns the handler for the answer to this request, if it is still kept.
    pub(crate) fn take(&self, id: &RequestId) -> Option<LateReply> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let place = entries.iter().position(|entry| entry.id == *id)?;
        let entry = entries.remove(place)?;
        (entry.until > Instant::now()).then_some(entry.late_reply)
    }
}

/// The most abandoned requests that are kept for one connection.
const LIMIT: usize = 64;
