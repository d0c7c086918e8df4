//! Which sessions are driven in this process, and how far their turns are.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use jackfield_domain::ids::{SessionId, TurnId};
use tokio::sync::watch;

/// The sessions that are driven here.
#[derive(Debug, Default)]
pub(crate) struct Occupied {
    places: Mutex<Places>,
}

#[derive(Debug, Default)]
struct Places {
    driven: BTreeMap<SessionId, watch::Sender<Progress>>,
    queues: BTreeMap<SessionId, Weak<tokio::sync::Mutex<()>>>,
}

/// How far the turn of a session is.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Progress {
    pub(crate) only_waits: bool,
    /// The turn; `None` until its first step is committed.
    pub(crate) turn: Option<TurnId>,
}

impl Occupied {
    /// Marks a session as driven here until the guard is dropped; if it is already, what tells how far
    /// it is, and closes when it is driven no more.
    pub(crate) fn take(
        self: &Arc<Self>,
        session: &SessionId,
    ) -> Result<Busy, watch::Receiver<Progress>> {
        let mut places = self.places();
        if let Some(driven) = places.driven.get(session) {
            return Err(driven.subscribe());
        }
        let progress = watch::Sender::default();
        places.driven.insert(session.clone(), progress.clone());
        Ok(Busy {
            occupied: Arc::clone(self),
            progress,
            session: session.clone(),
        })
    }

    /// The queue before a session: who comes first is let in first.
    pub(crate) fn queue(&self, session: &SessionId) -> Arc<tokio::sync::Mutex<()>> {
        let queues = &mut self.places().queues;
        if let Some(queue) = queues.get(session).and_then(Weak::upgrade) {
            return queue;
        }
        queues.retain(|_, queue| queue.strong_count() > 0);
        let queue = Arc::default();
        queues.insert(session.clone(), Arc::downgrade(&queue));
        queue
    }

    fn places(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Marks a session as driven here.
#[derive(Debug)]
pub(crate) struct Busy {
    occupied: Arc<Occupied>,
    /// Tells how far its turn is.
    pub(crate) progress: watch::Sender<Progress>,
    session: SessionId,
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.occupied.places().driven.remove(&self.session);
    }
}
