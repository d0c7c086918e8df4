//! The journals of an engine: a durable one, and at most one in memory for sessions that are not kept.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use jackfield_domain::fact::Envelope;
use jackfield_domain::ids::{DeliveryId, SessionId};
use jackfield_domain::time::WallTime;
use jackfield_domain::wait::{Delivery, DeliveryBody};
use jackfield_ports::journal::admin::JournalAdmin;
use jackfield_ports::journal::directory::Directory;
use jackfield_ports::journal::logins::Logins;
use jackfield_ports::journal::marks::{FoundTurn, Mark};
use jackfield_ports::journal::meters::Meters;
use jackfield_ports::journal::secrets::Secrets;
use jackfield_ports::journal::sessions::{
    DueSessions, LabelChange, ListedWait, OpenWaitsMark, SessionQuery, SessionRow, WaitQuery,
};
use jackfield_ports::journal::spending::SpendingLog;
use jackfield_ports::journal::upstream_responses::UpstreamResponses;
use jackfield_ports::journal::{
    Append, Appended, DeliveryOutcome, Epoch, Hold, Journal, JournalError, Lease, Loaded,
};

use crate::options::Durability;

/// The journals of an engine as one journal: each session is in one of them. Lists, spending records and the directory are
/// those of the durable journal; what is due and what a mark finds come from both.
pub(crate) struct Journals {
    durable: Arc<dyn Journal>,
    memory: Option<Arc<dyn Journal>>,
    /// The sessions of the journal in memory.
    ephemeral: Mutex<HashSet<SessionId>>,
}

impl Journals {
    pub(crate) fn new(durable: Arc<dyn Journal>, memory: Option<Arc<dyn Journal>>) -> Self {
        Self {
            durable,
            memory,
            ephemeral: Mutex::default(),
        }
    }

    /// The durable journal.
    pub(crate) fn durable(&self) -> &Arc<dyn Journal> {
        &self.durable
    }

    /// Whether there is a journal for ephemeral sessions.
    pub(crate) fn has_memory(&self) -> bool {
        self.memory.is_some()
    }

    /// Makes a session, which does not exist yet, one of the journal in memory.
    pub(crate) fn add_ephemeral(&self, session: &SessionId) {
        self.ephemeral_sessions().insert(session.clone());
    }

    /// In which journal a session is, or would be if it were created now.
    pub(crate) fn durability(&self, session: &SessionId) -> Durability {
        if self.memory.is_some() && self.ephemeral_sessions().contains(session) {
            Durability::Ephemeral
        } else {
            Durability::Durable
        }
    }

    /// The turns of a principal with these marks, in one of the journals, or in both if `None`.
    ///
    /// # Errors
    ///
    /// Those of [`Journal::find`].
    pub(crate) async fn find_in(
        &self,
        durability: Option<Durability>,
        principal: &str,
        marks: &[Mark],
        limit: usize,
    ) -> Result<Vec<FoundTurn>, JournalError> {
        let mut found = Vec::new();
        if durability != Some(Durability::Ephemeral) {
            found = self.durable.find(principal, marks, limit).await?;
        }
        if durability != Some(Durability::Durable)
            && let Some(memory) = &self.memory
        {
            found.extend(memory.find(principal, marks, limit).await?);
            // Stable: for each mark, the turns of the durable journal come first.
            found.sort_by_cached_key(|found| marks.iter().position(|mark| *mark == found.mark));
        }
        Ok(found)
    }

    fn of(&self, session: &SessionId) -> &Arc<dyn Journal> {
        match (&self.memory, self.durability(session)) {
            (Some(memory), Durability::Ephemeral) => memory,
            (Some(_) | None, Durability::Durable | Durability::Ephemeral) => &self.durable,
        }
    }

    fn ephemeral_sessions(&self) -> MutexGuard<'_, HashSet<SessionId>> {
        self.ephemeral
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Journal for Journals {
    async fn own(&self, session: &SessionId) -> Result<Lease, JournalError> {
        self.of(session).own(session).await
    }

    async fn release(&self, session: &SessionId, epoch: Epoch) -> Result<(), JournalError> {
        self.of(session).release(session, epoch).await
    }

    async fn hold(&self, session: &SessionId) -> Result<Hold, JournalError> {
        self.of(session).hold(session).await
    }

    async fn exists(&self, session: &SessionId) -> Result<bool, JournalError> {
        self.of(session).exists(session).await
    }

    async fn load(&self, session: &SessionId) -> Result<Loaded, JournalError> {
        self.of(session).load(session).await
    }

    async fn append(&self, append: &Append) -> Appended {
        self.of(&append.session).append(append).await
    }

    async fn deliver(
        &self,
        session: &SessionId,
        id: DeliveryId,
        by: Arc<str>,
        body: DeliveryBody,
    ) -> Result<DeliveryOutcome, JournalError> {
        self.of(session).deliver(session, id, by, body).await
    }

    async fn inbox(&self, session: &SessionId, from: u64) -> Result<Vec<Delivery>, JournalError> {
        self.of(session).inbox(session, from).await
    }

    async fn follow(&self, session: &SessionId, from: u64) -> Result<Vec<Envelope>, JournalError> {
        self.of(session).follow(session, from).await
    }

    async fn sessions(&self, query: &SessionQuery) -> Result<Vec<SessionRow>, JournalError> {
        self.durable.sessions(query).await
    }

    async fn delete(&self, session: &SessionId) -> Result<(), JournalError> {
        let deleted = self.of(session).delete(session).await;
        if matches!(&deleted, Ok(()) | Err(JournalError::UnknownSession { .. })) {
            self.ephemeral_sessions().remove(session);
        }
        deleted
    }

    async fn label(&self, session: &SessionId, change: &LabelChange) -> Result<(), JournalError> {
        self.of(session).label(session, change).await
    }

    async fn mark_restored(&self, session: &SessionId) -> Result<(), JournalError> {
        self.of(session).mark_restored(session).await
    }

    async fn due(&self, now: WallTime, limit: usize) -> Result<DueSessions, JournalError> {
        let mut due = self.durable.due(now, limit).await?;
        if let Some(memory) = &self.memory {
            let more = memory.due(now, limit).await?;
            due.sessions.extend(more.sessions);
            due.next = due.next.into_iter().chain(more.next).min();
        }
        Ok(due)
    }

    fn now(&self) -> Option<WallTime> {
        self.durable.now()
    }

    async fn waits(&self, query: &WaitQuery) -> Result<Vec<ListedWait>, JournalError> {
        self.durable.waits(query).await
    }

    async fn open_waits_mark(&self) -> Result<OpenWaitsMark, JournalError> {
        self.durable.open_waits_mark().await
    }

    async fn find(
        &self,
        principal: &str,
        marks: &[Mark],
        limit: usize,
    ) -> Result<Vec<FoundTurn>, JournalError> {
        self.find_in(None, principal, marks, limit).await
    }

    async fn close(&self) {
        self.durable.close().await;
    }

    async fn check_form(&self) -> Result<(), JournalError> {
        self.durable.check_form().await
    }

    fn is_durable(&self) -> bool {
        self.durable.is_durable()
    }

    fn admin(&self) -> Option<&dyn JournalAdmin> {
        self.durable.admin()
    }

    fn directory(&self) -> Option<&dyn Directory> {
        self.durable.directory()
    }

    fn logins(&self) -> Option<&dyn Logins> {
        self.durable.logins()
    }

    fn meters(&self) -> Option<&dyn Meters> {
        self.durable.meters()
    }

    fn secrets(&self) -> Option<&dyn Secrets> {
        self.durable.secrets()
    }

    fn spending(&self) -> Option<&dyn SpendingLog> {
        self.durable.spending()
    }

    fn upstream_responses(&self) -> Option<&dyn UpstreamResponses> {
        self.durable.upstream_responses()
    }
}
