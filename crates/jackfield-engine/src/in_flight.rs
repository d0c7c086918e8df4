//! Requests whose turns are about to begin: one that says that it was sent before waits for those of an
//! equal body that came before it, so that it finds what they begin.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jackfield_domain::digest::Digest;
use jackfield_domain::ids::SessionId;
use tokio::sync::Semaphore;

/// The requests of which nobody knows yet what they begin.
#[derive(Debug, Default)]
pub(crate) struct InFlightRequests(Mutex<HashMap<RequestKey, Vec<Arc<Semaphore>>>>);

/// What requests have in common that are equal.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) struct RequestKey {
    pub(crate) body: Digest,
    pub(crate) principal: Arc<str>,
    pub(crate) session: Option<SessionId>,
}

/// One of them, until it is dropped.
#[derive(Debug)]
pub(crate) struct InFlight {
    /// Has no permits; closed when this one is over.
    ended: Arc<Semaphore>,
    openings: Arc<InFlightRequests>,
    sent: RequestKey,
}

/// Those of an equal body that came before.
#[derive(Debug)]
pub(crate) struct Predecessors(Vec<Arc<Semaphore>>);

impl InFlightRequests {
    /// Counts one more in; and, for one that is a repeat, those that it is equal to and that came before it.
    pub(crate) fn enter(
        self: &Arc<Self>,
        sent: RequestKey,
        is_repeat: bool,
    ) -> (InFlight, Predecessors) {
        let ended = Arc::new(Semaphore::new(0));
        let mut openings = self.openings();
        let equal = openings.entry(sent.clone()).or_default();
        // Of a thousand equal ones at once none is to hold all others.
        let earlier = Predecessors(if is_repeat { equal.clone() } else { Vec::new() });
        equal.push(Arc::clone(&ended));
        drop(openings);
        let opening = InFlight {
            ended,
            openings: Arc::clone(self),
            sent,
        };
        (opening, earlier)
    }

    fn openings(&self) -> MutexGuard<'_, HashMap<RequestKey, Vec<Arc<Semaphore>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Predecessors {
    /// Waits until each of them has begun a turn, or begins none.
    pub(crate) async fn over(self) {
        for opening in self.0 {
            // There is nothing to be had but its end.
            let _ended = opening.acquire().await.is_err();
        }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.ended.close();
        let mut openings = self.openings.openings();
        if let Some(equal) = openings.get_mut(&self.sent) {
            equal.retain(|opening| !opening.is_closed());
            if equal.is_empty() {
                openings.remove(&self.sent);
            }
        }
    }
}
