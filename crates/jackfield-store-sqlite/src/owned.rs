//! The sessions owned by this process, with a cached copy of their rows. Only the owner changes those columns, so
//! they need not be read before each append.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jackfield_domain::ids::SessionId;
use jackfield_ports::journal::Epoch;
use jackfield_ports::journal::summary::Summary;

use crate::jobs::ConcurrentWriters;
use crate::requests::AppendJob;
use crate::rows::StoredSession;

/// The contents of a row after the last append under one ownership. Valid only while epoch and step count match;
/// the caller must check, as a delivery or another owner may have intervened.
#[derive(Clone, Debug)]
pub(crate) struct OwnerRow {
    pub(crate) due: Option<i64>,
    pub(crate) epoch: u64,
    /// The number of its last step.
    pub(crate) last: i64,
    pub(crate) number: i64,
    pub(crate) seen: u64,
    pub(crate) steps: u64,
    pub(crate) summary: Summary,
}

impl OwnerRow {
    /// The row of a session that was just created.
    pub(crate) fn new(number: i64, epoch: u64) -> Self {
        Self {
            due: None,
            epoch,
            last: 0,
            number,
            seen: 0,
            steps: 0,
            summary: Summary::default(),
        }
    }

    /// The row of a session with this summary, owned under this epoch.
    pub(crate) const fn from_row(row: &StoredSession, epoch: u64, summary: Summary) -> Self {
        Self {
            due: row.due,
            epoch,
            last: row.last,
            number: row.number,
            seen: row.seen,
            steps: row.steps,
            summary,
        }
    }

    /// Whether this append directly follows it and touches no wait.
    pub(crate) fn is_followed_by(&self, append: &AppendJob) -> bool {
        append.epoch.0 == self.epoch
            && append.position == self.steps
            && append.is_numbered
            && append.changes.is_empty()
    }
}

/// The sessions owned here, which may be written to at any moment: the epoch and the known row of each.
#[derive(Default)]
pub(crate) struct OwnedSessions(Mutex<OwnedTable>);

type OwnedTable = HashMap<SessionId, (Epoch, Option<Arc<OwnerRow>>)>;

impl OwnedSessions {
    /// Adds a session that was taken over, with its row if known.
    pub(crate) fn add(&self, session: &SessionId, epoch: Epoch, known: Option<OwnerRow>) {
        let owned = (epoch, known.map(Arc::new));
        self.lock().insert(session.clone(), owned);
    }

    /// Whether another session is owned here, whose turn may write at the same time.
    pub(crate) fn concurrent_writers(&self, session: &SessionId) -> ConcurrentWriters {
        if self.lock().keys().any(|owned| owned != session) {
            ConcurrentWriters::Others
        } else {
            ConcurrentWriters::Alone
        }
    }

    /// The known row of a session.
    pub(crate) fn row(&self, session: &SessionId) -> Option<Arc<OwnerRow>> {
        self.lock().get(session)?.1.clone()
    }

    /// Replaces the known row of a session, if the session is still owned.
    pub(crate) fn update_row(&self, session: &SessionId, known: Option<OwnerRow>) {
        if let Some((_, before)) = self.lock().get_mut(session) {
            *before = known.map(Arc::new);
        }
    }

    /// Removes a session released under this epoch, and returns whether it was the last. A session that was taken
    /// again since stays.
    pub(crate) fn remove(&self, session: &SessionId, epoch: Epoch) -> bool {
        let mut owned = self.lock();
        if owned.get(session).is_some_and(|(its, _)| *its == epoch) {
            owned.remove(session);
        }
        owned.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, OwnedTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
