//! Requests in flight whose turns have not begun yet. A request that is marked as a retry waits for earlier
//! requests with an equal body, so that it finds their turns.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jackfield_domain::digest::Digest;
use jackfield_domain::ids::SessionId;
use tokio::sync::Semaphore;

/// The requests whose turns have not begun yet.
#[derive(Debug, Default)]
pub(crate) struct InFlightRequests(Mutex<HashMap<RequestKey, Vec<Arc<Semaphore>>>>);

/// The fields that equal requests share.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) struct RequestKey {
    pub(crate) body: Digest,
    pub(crate) principal: Arc<str>,
    pub(crate) session: Option<SessionId>,
}

/// A request in flight; dropping it ends it.
#[derive(Debug)]
pub(crate) struct InFlight {
    /// Has no permits; closed when this request ends.
    ended: Arc<Semaphore>,
    requests: Arc<InFlightRequests>,
    key: RequestKey,
}

/// The earlier requests with an equal body.
#[derive(Debug)]
pub(crate) struct Predecessors(Vec<Arc<Semaphore>>);

impl InFlightRequests {
    /// Adds a request. For a retry, also returns the equal requests that came before it.
    pub(crate) fn insert(
        self: &Arc<Self>,
        key: RequestKey,
        is_repeat: bool,
    ) -> (InFlight, Predecessors) {
        let ended = Arc::new(Semaphore::new(0));
        let mut requests = self.lock();
        let equal = requests.entry(key.clone()).or_default();
        // Only retries wait: many equal requests at once must not block each other.
        let earlier = Predecessors(if is_repeat { equal.clone() } else { Vec::new() });
        equal.push(Arc::clone(&ended));
        drop(requests);
        let in_flight = InFlight {
            ended,
            requests: Arc::clone(self),
            key,
        };
        (in_flight, earlier)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RequestKey, Vec<Arc<Semaphore>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Predecessors {
    /// Waits until each of them has begun a turn or will not begin one.
    pub(crate) async fn finished(self) {
        for opening in self.0 {
            // The semaphore has no permits, so this only waits until it is closed.
            let _ended = opening.acquire().await.is_err();
        }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.ended.close();
        let mut requests = self.requests.lock();
        if let Some(equal) = requests.get_mut(&self.key) {
            equal.retain(|opening| !opening.is_closed());
            if equal.is_empty() {
                requests.remove(&self.key);
            }
        }
    }
}
