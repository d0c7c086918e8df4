//! Which sessions are driven in this process, and how far their turns are.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jackfield_domain::ids::{SessionId, TurnId};
use tokio::sync::watch;

use crate::queues::Queues;

/// The sessions that are driven here.
#[derive(Debug, Default)]
pub(crate) struct DrivenSessions {
    driven: Mutex<BTreeMap<SessionId, watch::Sender<SessionProgress>>>,
    /// Messages that wait for their turn.
    pub(crate) queues: Queues<SessionId>,
}

/// How far the turn of a session is.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SessionProgress {
    /// It is over, and is about to be let go of.
    pub(crate) is_over: bool,
    pub(crate) only_waits: bool,
    /// The turn; `None` until its first step is committed.
    pub(crate) turn: Option<TurnId>,
}

impl DrivenSessions {
    /// Marks a session as driven here until the guard is dropped; if it is already, what tells how far
    /// it is, and closes when it is driven no more.
    pub(crate) fn take(
        self: &Arc<Self>,
        session: &SessionId,
    ) -> Result<DrivenGuard, watch::Receiver<SessionProgress>> {
        let mut places = self.places();
        if let Some(driven) = places.get(session) {
            return Err(driven.subscribe());
        }
        let progress = watch::Sender::default();
        places.insert(session.clone(), progress.clone());
        Ok(DrivenGuard {
            occupied: Arc::clone(self),
            progress,
            session: session.clone(),
        })
    }

    /// What tells how far the turn is that is driven here in a session, if one is.
    pub(crate) fn driven(&self, session: &SessionId) -> Option<watch::Receiver<SessionProgress>> {
        self.places().get(session).map(watch::Sender::subscribe)
    }

    fn places(&self) -> MutexGuard<'_, BTreeMap<SessionId, watch::Sender<SessionProgress>>> {
        self.driven.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Marks a session as driven here.
#[derive(Debug)]
pub(crate) struct DrivenGuard {
    occupied: Arc<DrivenSessions>,
    /// Tells how far its turn is.
    pub(crate) progress: watch::Sender<SessionProgress>,
    session: SessionId,
}

impl Drop for DrivenGuard {
    fn drop(&mut self) {
        self.occupied.places().remove(&self.session);
    }
}
