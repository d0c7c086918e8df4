//! The sessions that are driven in this process, and the progress of their turns.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jackfield_domain::ids::{SessionId, TurnId};
use tokio::sync::watch;

use crate::queues::Queues;

/// The sessions that are driven in this process.
#[derive(Debug, Default)]
pub(crate) struct DrivenSessions {
    sessions: Mutex<BTreeMap<SessionId, watch::Sender<SessionProgress>>>,
    /// Messages that are queued behind a running turn.
    pub(crate) queues: Queues<SessionId>,
}

/// The progress of a session's turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SessionProgress {
    /// The turn is over, and the session is about to be released.
    pub(crate) is_over: bool,
    pub(crate) only_waits: bool,
    /// The turn; `None` until its first step is committed.
    pub(crate) turn: Option<TurnId>,
}

impl DrivenSessions {
    /// Marks a session as driven here until the guard is dropped. If it is already driven, returns a receiver
    /// of its progress, which closes when the session is no longer driven.
    pub(crate) fn try_acquire(
        self: &Arc<Self>,
        session: &SessionId,
    ) -> Result<DrivenGuard, watch::Receiver<SessionProgress>> {
        let mut sessions = self.lock();
        if let Some(driven) = sessions.get(session) {
            return Err(driven.subscribe());
        }
        let progress = watch::Sender::default();
        sessions.insert(session.clone(), progress.clone());
        Ok(DrivenGuard {
            sessions: Arc::clone(self),
            progress,
            session: session.clone(),
        })
    }

    /// A receiver of the progress of the session's turn, if it is driven here.
    pub(crate) fn progress(&self, session: &SessionId) -> Option<watch::Receiver<SessionProgress>> {
        self.lock().get(session).map(watch::Sender::subscribe)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<SessionId, watch::Sender<SessionProgress>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Marks a session as driven here until it is dropped.
#[derive(Debug)]
pub(crate) struct DrivenGuard {
    sessions: Arc<DrivenSessions>,
    /// Publishes the progress of its turn.
    pub(crate) progress: watch::Sender<SessionProgress>,
    session: SessionId,
}

impl Drop for DrivenGuard {
    fn drop(&mut self) {
        self.sessions.lock().remove(&self.session);
    }
}
