//! A journal that counts what it writes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use jackfield_domain::fact::Envelope;
use jackfield_domain::ids::{DeliveryId, SessionId};
use jackfield_domain::time::WallTime;
use jackfield_domain::wait::{Delivery, DeliveryBody};
use jackfield_ports::journal::admin::JournalAdmin;
use jackfield_ports::journal::marks::{FoundTurn, Mark};
use jackfield_ports::journal::sessions::{
    DueSessions, LabelChange, ListedWait, SessionQuery, SessionRow, WaitQuery,
};
use jackfield_ports::journal::spending::SpendingLog;
use jackfield_ports::journal::{
    Append, Appended, DeliveryOutcome, Epoch, Hold, Journal, JournalError, Lease, Loaded,
};

use super::appends::Plain;

/// A journal, and how many appends it got.
pub struct Counting<J> {
    appends: AtomicU64,
    journal: Arc<J>,
    plain: Option<Mutex<Plain>>,
}

impl<J> Counting<J> {
    /// Counts what this one gets.
    #[must_use]
    pub const fn new(journal: Arc<J>) -> Self {
        Self {
            appends: AtomicU64::new(0),
            journal,
            plain: None,
        }
    }

    /// The same, with a row of a plain table beside each append, which is waited for.
    #[must_use]
    pub const fn beside(journal: Arc<J>, plain: Plain) -> Self {
        Self {
            appends: AtomicU64::new(0),
            journal,
            plain: Some(Mutex::new(plain)),
        }
    }

    /// How many appends there were.
    #[must_use]
    pub fn appends(&self) -> u64 {
        self.appends.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl<J: Journal> Journal for Counting<J> {
    async fn own(&self, session: &SessionId) -> Result<Lease, JournalError> {
        self.journal.own(session).await
    }

    async fn release(&self, session: &SessionId, epoch: Epoch) -> Result<(), JournalError> {
        self.journal.release(session, epoch).await
    }

    async fn hold(&self, session: &SessionId) -> Result<Hold, JournalError> {
        self.journal.hold(session).await
    }

    async fn load(&self, session: &SessionId) -> Result<Loaded, JournalError> {
        self.journal.load(session).await
    }

    async fn append(&self, append: &Append) -> Appended {
        self.appends.fetch_add(1, Ordering::Relaxed);
        if let Some(plain) = &self.plain {
            let plain = plain.lock().unwrap_or_else(PoisonError::into_inner);
            if let Err(error) = plain.insert() {
                return Appended::Unknown(error.into());
            }
        }
        self.journal.append(append).await
    }

    async fn deliver(
        &self,
        session: &SessionId,
        id: DeliveryId,
        by: Arc<str>,
        body: DeliveryBody,
    ) -> Result<DeliveryOutcome, JournalError> {
        self.journal.deliver(session, id, by, body).await
    }

    async fn inbox(&self, session: &SessionId, from: u64) -> Result<Vec<Delivery>, JournalError> {
        self.journal.inbox(session, from).await
    }

    async fn follow(&self, session: &SessionId, from: u64) -> Result<Vec<Envelope>, JournalError> {
        self.journal.follow(session, from).await
    }

    async fn sessions(&self, query: &SessionQuery) -> Result<Vec<SessionRow>, JournalError> {
        self.journal.sessions(query).await
    }

    async fn delete(&self, session: &SessionId) -> Result<(), JournalError> {
        self.journal.delete(session).await
    }

    async fn label(&self, session: &SessionId, change: &LabelChange) -> Result<(), JournalError> {
        self.journal.label(session, change).await
    }

    async fn mark_restored(&self, session: &SessionId) -> Result<(), JournalError> {
        self.journal.mark_restored(session).await
    }

    async fn due(&self, now: WallTime, most: usize) -> Result<DueSessions, JournalError> {
        self.journal.due(now, most).await
    }

    async fn waits(&self, query: &WaitQuery) -> Result<Vec<ListedWait>, JournalError> {
        self.journal.waits(query).await
    }

    async fn find(
        &self,
        principal: &str,
        marks: &[Mark],
        most: usize,
    ) -> Result<Vec<FoundTurn>, JournalError> {
        self.journal.find(principal, marks, most).await
    }

    async fn close(&self) {
        self.journal.close().await;
    }

    fn is_durable(&self) -> bool {
        self.journal.is_durable()
    }

    fn admin(&self) -> Option<&dyn JournalAdmin> {
        self.journal.admin()
    }

    fn spending(&self) -> Option<&dyn SpendingLog> {
        self.journal.spending()
    }
}
