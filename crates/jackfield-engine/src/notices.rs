//! Notices of this process to its keepers. They are dropped if there is no keeper.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jackfield_domain::ids::SessionId;
use tokio::sync::broadcast;

/// The channel of the notices.
#[derive(Debug)]
pub(crate) struct SessionNotices {
    notices: broadcast::Sender<SessionNotice>,
    /// The sessions that keepers resume first. They are kept until taken, so a missed notice does no harm.
    prioritized: Mutex<BTreeSet<SessionId>>,
}

/// A notice for keepers.
#[derive(Clone, Debug)]
pub(crate) enum SessionNotice {
    /// A delivery was added to the inbox of a session.
    Delivered(SessionId),
    /// A turn was released: it may be due, or have a deadline that keepers do not know.
    Released,
    /// A client is waiting for the turn of a session.
    Prioritized,
}

impl Default for SessionNotices {
    fn default() -> Self {
        Self {
            notices: broadcast::Sender::new(MAX_UNDELIVERED),
            prioritized: Mutex::default(),
        }
    }
}

impl SessionNotices {
    pub(crate) fn notify_delivered(&self, session: &SessionId) {
        if self.has_keeper() {
            // A keeper that stops in between needs no notice.
            let _nobody = self.notices.send(SessionNotice::Delivered(session.clone()));
        }
    }

    pub(crate) fn notify_released(&self) {
        let _nobody = self.notices.send(SessionNotice::Released);
    }

    /// Makes a keeper resume a session before all others.
    pub(crate) fn prioritize(&self, session: &SessionId) {
        self.lock_prioritized().insert(session.clone());
        let _nobody = self.notices.send(SessionNotice::Prioritized);
    }

    /// Takes the sessions that have to be resumed first.
    pub(crate) fn take_prioritized(&self) -> BTreeSet<SessionId> {
        std::mem::take(&mut *self.lock_prioritized())
    }

    /// Whether there is a keeper.
    pub(crate) fn has_keeper(&self) -> bool {
        self.notices.receiver_count() > 0
    }

    /// Subscribes to all later notices; a slow subscriber gets a lag error.
    pub(crate) fn subscribe(&self) -> broadcast::Receiver<SessionNotice> {
        self.notices.subscribe()
    }

    fn lock_prioritized(&self) -> MutexGuard<'_, BTreeSet<SessionId>> {
        self.prioritized
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// The capacity of the channel. A keeper that lags behind queries all due sessions.
const MAX_UNDELIVERED: usize = 64;
