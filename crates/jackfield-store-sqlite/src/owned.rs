//! The sessions that are owned here, and what is known of their rows: nobody else changes what an owner
//! writes there, so that it need not be read before each append.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jackfield_domain::ids::SessionId;
use jackfield_ports::journal::Epoch;
use jackfield_ports::journal::summary::Summary;

use crate::rows::StoredSession;
use crate::writer::ConcurrentWriters;

/// What a row said after the last append under one ownership. It says so still if it has the same epoch and
/// as many steps, which whoever goes by it has to see to: a delivery may have come, or another owner.
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
    /// What is known of a session that was made just now.
    pub(crate) fn made(number: i64, epoch: u64) -> Self {
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

    /// What is known of a row, of which this is the summary, from this epoch on.
    pub(crate) const fn of(row: &StoredSession, epoch: u64, summary: Summary) -> Self {
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
}

/// The sessions that are owned here, and may be written to at any moment: under which epoch, and what is known
/// of each.
#[derive(Default)]
pub(crate) struct OwnedSessions(Mutex<OwnedTable>);

type OwnedTable = HashMap<SessionId, (Epoch, Option<Arc<OwnerRow>>)>;

impl OwnedSessions {
    /// Puts one in that was taken, with what is known of it.
    pub(crate) fn add(&self, session: &SessionId, epoch: Epoch, known: Option<OwnerRow>) {
        let owned = (epoch, known.map(Arc::new));
        self.lock().insert(session.clone(), owned);
    }

    /// Whether anybody here may be at work on another session.
    pub(crate) fn company_of(&self, session: &SessionId) -> ConcurrentWriters {
        if self.lock().keys().any(|owned| owned != session) {
            ConcurrentWriters::Others
        } else {
            ConcurrentWriters::Alone
        }
    }

    /// What is known of a session.
    pub(crate) fn known(&self, session: &SessionId) -> Option<Arc<OwnerRow>> {
        self.lock().get(session)?.1.clone()
    }

    /// Keeps what is known of a session by now, if it is owned still.
    pub(crate) fn learn(&self, session: &SessionId, known: Option<OwnerRow>) {
        if let Some((_, before)) = self.lock().get_mut(session) {
            *before = known.map(Arc::new);
        }
    }

    /// Takes one out that was let go of under this epoch; whether it was the last. One that was taken again
    /// since stays.
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
