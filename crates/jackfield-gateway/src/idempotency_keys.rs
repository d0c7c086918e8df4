//! Serializes requests with an idempotency key per session, so that the second one finds the turn of the first.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use jackfield_domain::ids::SessionId;
use tokio::sync::OwnedMutexGuard;

/// The locks of sessions with such requests.
#[derive(Debug, Default)]
pub(crate) struct IdempotencyKeys(Mutex<HashMap<SessionId, Weak<tokio::sync::Mutex<()>>>>);

impl IdempotencyKeys {
    /// Waits until no other request with a key is about to begin a turn in this session.
    pub(crate) async fn lock_session(&self, session: &SessionId) -> OwnedMutexGuard<()> {
        let mutex = {
            let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            known.retain(|_, mutex| mutex.strong_count() > 0);
            let there = known.get(session).and_then(Weak::upgrade);
            there.unwrap_or_else(|| {
                let new = Arc::default();
                known.insert(session.clone(), Arc::downgrade(&new));
                new
            })
        };
        mutex.lock_owned().await
    }
}
