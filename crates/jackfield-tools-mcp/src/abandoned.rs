//! Requests that nobody waits for any more, and where their answers go if they come after all.
//!
//! A server is told that a request is taken back, and often answers all the same: it was done by then, or
//! does not heed the word. `rmcp` has forgotten the request by then, so this is asked before it.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use jackfield_ports::toolbox::LONGEST_AFTERWARDS;
use rmcp::model::RequestId;
use tokio::time::Instant;

use crate::message::RpcAnswer;
use crate::request::RequestError;

/// What takes the answer of one request, once nobody waits for it any more.
pub(crate) struct LateReply(Box<dyn FnOnce(Result<RpcAnswer, RequestError>) + Send + Sync>);

impl LateReply {
    pub(crate) fn new(
        hear: impl FnOnce(Result<RpcAnswer, RequestError>) + Send + Sync + 'static,
    ) -> Self {
        Self(Box::new(hear))
    }

    pub(crate) fn came(self, answer: Result<RpcAnswer, RequestError>) {
        (self.0)(answer);
    }
}

impl fmt::Debug for LateReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Afterlife")
    }
}

/// The requests of one connection that nobody waits for any more, the oldest first: some, and for a while.
#[derive(Debug, Default)]
pub(crate) struct AbandonedRequests(Mutex<VecDeque<AbandonedRequest>>);

#[derive(Debug)]
struct AbandonedRequest {
    afterlife: LateReply,
    id: RequestId,
    until: Instant,
}

impl AbandonedRequests {
    /// Says that nobody waits any more. Of too many the oldest are forgotten.
    pub(crate) fn add(&self, id: RequestId, afterlife: LateReply) {
        let now = Instant::now();
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|entry| entry.until > now);
        if entries.len() >= MOST {
            entries.pop_front();
        }
        entries.push_back(AbandonedRequest {
            afterlife,
            id,
            until: now + LONGEST_AFTERWARDS,
        });
    }

    /// What takes the answer of this request, if it still may come.
    pub(crate) fn take(&self, id: &RequestId) -> Option<LateReply> {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = entries.iter().position(|entry| entry.id == *id)?;
        let entry = entries.remove(place)?;
        (entry.until > Instant::now()).then_some(entry.afterlife)
    }
}

/// The most requests of one connection whose answers may still come.
const MOST: usize = 64;
