//! What this process did that a keeper is to look at: told to whoever keeps, and forgotten if nobody does.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jackfield_domain::ids::SessionId;
use tokio::sync::broadcast;

/// Where it is told.
#[derive(Debug)]
pub(crate) struct SessionNotices {
    notices: broadcast::Sender<SessionNotice>,
    /// The sessions that keepers take up first. No notice can be missed that is kept here.
    wanted: Mutex<BTreeSet<SessionId>>,
}

/// What was done.
#[derive(Clone, Debug)]
pub(crate) enum SessionNotice {
    /// Something was put into the inbox of a session.
    Delivered(SessionId),
    /// A turn was let go of: it may have become due, or has a deadline that nobody knew.
    LetGo,
    /// A client asks for the turn of a session.
    Wanted,
}

impl Default for SessionNotices {
    fn default() -> Self {
        Self {
            notices: broadcast::Sender::new(MOST_UNHEARD),
            wanted: Mutex::default(),
        }
    }
}

impl SessionNotices {
    pub(crate) fn delivered(&self, session: &SessionId) {
        if self.is_heard() {
            // Who stopped keeping in between misses nothing.
            let _nobody = self.notices.send(SessionNotice::Delivered(session.clone()));
        }
    }

    pub(crate) fn let_go(&self) {
        let _nobody = self.notices.send(SessionNotice::LetGo);
    }

    /// Has a keeper take up a session before all others.
    pub(crate) fn want(&self, session: &SessionId) {
        self.wanted().insert(session.clone());
        let _nobody = self.notices.send(SessionNotice::Wanted);
    }

    /// The sessions that are to be taken up before all others; they are forgotten here.
    pub(crate) fn take_wanted(&self) -> BTreeSet<SessionId> {
        std::mem::take(&mut *self.wanted())
    }

    /// Whether there is a keeper.
    pub(crate) fn is_heard(&self) -> bool {
        self.notices.receiver_count() > 0
    }

    /// Everything from now on; one that is slow is told that it missed something.
    pub(crate) fn listen(&self) -> broadcast::Receiver<SessionNotice> {
        self.notices.subscribe()
    }

    fn wanted(&self) -> MutexGuard<'_, BTreeSet<SessionId>> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How many notices are kept for a keeper that is slow: then it looks at everything.
const MOST_UNHEARD: usize = 64;
