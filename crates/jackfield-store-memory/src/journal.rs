//! The journal: sessions behind one lock, which is never held across an await.

mod directory;
mod logins;
mod meters;
mod secrets;
mod spending;
mod upstream_responses;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use jackfield_domain::fact::Envelope;
use jackfield_domain::ids::{DeliveryId, SessionId};
use jackfield_domain::time::WallTime;
use jackfield_domain::wait::{Delivery, DeliveryBody};
use jackfield_ports::journal::directory::Directory;
use jackfield_ports::journal::logins::Logins;
use jackfield_ports::journal::marks::{FoundTurn, Mark};
use jackfield_ports::journal::meters::Meters;
use jackfield_ports::journal::secrets::Secrets;
use jackfield_ports::journal::sessions::{
    DueSessions, LabelChange, ListedWait, SessionQuery, SessionRow, WaitQuery,
};
use jackfield_ports::journal::spending::SpendingLog;
use jackfield_ports::journal::summary::normalize;
use jackfield_ports::journal::upstream_responses::UpstreamResponses;
use jackfield_ports::journal::{
    Append, AppendRefusal, Appended, DeliveryOutcome, Epoch, Hold, Journal, JournalError, Lease,
    Loaded,
};
use jackfield_record::{DecodeError, EncodeError};

use self::logins::LoginTable;
use self::meters::MeterTable;
use self::upstream_responses::UpstreamResponseTable;
use crate::directory::DirectoryRows;
use crate::holds::MemoryHolds;
use crate::marks::{Marks, shrink};
use crate::record::{NewSteps, Record, SharedTexts, StoredStep};
use crate::session::SessionRows;
use crate::spending::SpendingRows;

/// Stores the facts and the inbox of every session in memory.
///
/// A session exists from the moment that it was first owned. A repeated append is recognised while its epoch is
/// the current one; a former owner is refused even for what it did write, because its successor acts on that.
pub struct MemoryJournal {
    clock: Arc<dyn Fn() -> WallTime + Send + Sync>,
    directory: Arc<Mutex<DirectoryRows>>,
    holds: MemoryHolds,
    /// Whether steps are stored as values, without encoding.
    is_ephemeral: bool,
    /// The length of leases; `None` if they never end.
    lease: Option<Duration>,
    /// The number of the process that this stands for.
    process: u64,
    logins: LoginTable,
    meters: MeterTable,
    sessions: Arc<Mutex<SessionTable>>,
    spending: Arc<Mutex<SpendingRows>>,
    upstream_responses: UpstreamResponseTable,
}

#[derive(Default)]
struct SessionTable {
    by_id: HashMap<SessionId, SessionRows>,
    marks: Marks,
    /// The highest epoch of all deleted sessions: it is not reused.
    max_deleted_epoch: u64,
    /// The number of further processes that the journal was opened for.
    processes: u64,
    shared: SharedTexts,
}

impl MemoryJournal {
    /// An empty journal with the system clock.
    #[must_use]
    pub fn new() -> Self {
        Self::with_clock(system_time)
    }

    /// An empty journal with this clock, which must not call the journal.
    #[must_use]
    pub fn with_clock(clock: impl Fn() -> WallTime + Send + Sync + 'static) -> Self {
        Self {
            clock: Arc::new(clock),
            directory: Arc::default(),
            holds: MemoryHolds::default(),
            is_ephemeral: false,
            lease: None,
            logins: Arc::default(),
            meters: Arc::default(),
            process: 0,
            sessions: Arc::default(),
            spending: Arc::default(),
            upstream_responses: Arc::default(),
        }
    }

    /// Makes the journal ephemeral: its sessions are deleted soon, and never listed or searched. Steps are
    /// stored as values, which saves encoding and decoding them. It has no log of spending records and no
    /// directory.
    #[must_use]
    pub fn ephemeral(self) -> Self {
        Self {
            is_ephemeral: true,
            ..self
        }
    }

    /// Gives leases of this length, each extended by its owner's appends. Without this, leases never end.
    #[must_use]
    pub fn leased(self, length: Duration) -> Self {
        Self {
            lease: Some(length),
            ..self
        }
    }

    /// The same sessions, as another process would have them open: neither can own a session that the other owns
    /// under a lease that has not passed.
    #[must_use]
    pub fn another_process(&self) -> Self {
        let mut sessions = self.lock();
        sessions.processes += 1;
        Self {
            clock: Arc::clone(&self.clock),
            directory: Arc::clone(&self.directory),
            holds: self.holds.clone(),
            is_ephemeral: self.is_ephemeral,
            lease: self.lease,
            logins: Arc::clone(&self.logins),
            meters: Arc::clone(&self.meters),
            process: sessions.processes,
            sessions: Arc::clone(&self.sessions),
            spending: Arc::clone(&self.spending),
            upstream_responses: Arc::clone(&self.upstream_responses),
        }
    }

    /// Lets every lease pass now that can end, of all processes, as if their owners had not been heard of for long.
    pub fn pass_leases(&self) {
        self.lock().by_id.values().for_each(SessionRows::pass_lease);
    }

    /// The form in which steps are stored.
    fn encode_steps(&self, steps: &[Envelope]) -> Result<NewSteps, EncodeError> {
        if self.is_ephemeral {
            return Ok(NewSteps::Values);
        }
        let records = steps
            .iter()
            .map(|step| jackfield_record::encode_envelope(step).map(jackfield_record::cut));
        Ok(NewSteps::Records(records.collect::<Result<_, _>>()?))
    }

    /// Accesses a session, if it exists.
    fn with_session<T>(
        &self,
        session: &SessionId,
        access: impl FnOnce(&mut SessionRows) -> T,
    ) -> Result<T, JournalError> {
        // No code panics under the lock; even then, each change to a session would be complete.
        match self.lock().by_id.get_mut(session) {
            Some(found) => Ok(access(found)),
            None => Err(unknown(session)),
        }
    }

    fn lock(&self) -> MutexGuard<'_, SessionTable> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn spending_rows(&self) -> MutexGuard<'_, SpendingRows> {
        self.spending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for MemoryJournal {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryJournal").finish_non_exhaustive()
    }
}

#[async_trait]
impl Journal for MemoryJournal {
    async fn own(&self, session: &SessionId) -> Result<Lease, JournalError> {
        let mut sessions = self.lock();
        let SessionTable {
            by_id,
            max_deleted_epoch,
            ..
        } = &mut *sessions;
        let found = by_id
            .entry(session.clone())
            .or_insert_with(|| SessionRows::new((self.clock)(), *max_deleted_epoch));
        let owned = found.own(self.process, self.lease);
        owned.ok_or_else(|| JournalError::Owned {
            session: session.clone(),
        })
    }

    async fn release(&self, session: &SessionId, epoch: Epoch) -> Result<(), JournalError> {
        // A session that does not exist has no owner.
        let _none = self.with_session(session, |found| found.release(epoch));
        Ok(())
    }

    async fn hold(&self, session: &SessionId) -> Result<Hold, JournalError> {
        // The lock excludes a concurrent delete.
        let _sessions = self.lock();
        Ok(Hold::new(self.holds.hold(session)))
    }

    async fn exists(&self, session: &SessionId) -> Result<bool, JournalError> {
        Ok(self.lock().by_id.contains_key(session))
    }

    async fn load(&self, session: &SessionId) -> Result<Loaded, JournalError> {
        let found = |found: &mut SessionRows| (found.records(), found.is_restored());
        let ((steps, deliveries), restored) = self.with_session(session, found)?;
        Ok(Loaded {
            steps: read(session, &steps, StoredStep::read)?,
            deliveries: read(session, &deliveries, delivery)?,
            restored,
        })
    }

    async fn append(&self, append: &Append) -> Appended {
        let steps = match self.encode_steps(&append.steps) {
            Ok(steps) => steps,
            Err(error) => {
                let why = error.to_string().into();
                return Appended::Refused(AppendRefusal::Unwritable { why });
            }
        };
        let mut sessions = self.lock();
        let SessionTable {
            by_id,
            marks,
            shared,
            ..
        } = &mut *sessions;
        let Some(found) = by_id.get_mut(&append.session) else {
            // The session was never owned.
            return Appended::Refused(AppendRefusal::StaleEpoch);
        };
        match found.append(append, steps, (shared, marks), (self.clock)()) {
            Ok(()) => {
                found.extend_lease(self.lease);
                Appended::Committed
            }
            Err(refusal) => Appended::Refused(refusal),
        }
    }

    async fn deliver(
        &self,
        session: &SessionId,
        id: DeliveryId,
        by: Arc<str>,
        body: DeliveryBody,
    ) -> Result<DeliveryOutcome, JournalError> {
        let unwritable = |error: EncodeError| JournalError::Unreachable {
            source: error.into(),
        };
        self.with_session(session, |found| {
            // Read under the lock, so that deliveries are ordered by time.
            let at = (self.clock)();
            found.deliver(Delivery { at, body, by, id })
        })?
        .map_err(unwritable)
    }

    async fn inbox(&self, session: &SessionId, from: u64) -> Result<Vec<Delivery>, JournalError> {
        let arrived = self.with_session(session, |found| found.delivery_notify())?;
        loop {
            // Registered before the check, so that no arrival is missed in between.
            let arrival = arrived.notified();
            let deliveries = self.with_session(session, |found| found.deliveries_from(from))?;
            if !deliveries.is_empty() {
                return read(session, &deliveries, delivery);
            }
            arrival.await;
        }
    }

    async fn follow(&self, session: &SessionId, from: u64) -> Result<Vec<Envelope>, JournalError> {
        let grown = self.with_session(session, |found| found.append_notify())?;
        loop {
            let growth = grown.notified();
            let steps = self.with_session(session, |found| found.steps_from(from))?;
            if !steps.is_empty() {
                return read(session, &steps, StoredStep::read);
            }
            growth.await;
        }
    }

    async fn sessions(&self, query: &SessionQuery) -> Result<Vec<SessionRow>, JournalError> {
        let text = query.text.as_deref().map(normalize);
        let sessions = self.lock();
        let mut found: Vec<(WallTime, &SessionId, &SessionRows)> = sessions
            .by_id
            .iter()
            .map(|(id, session)| (session.changed(), id, session))
            .filter(|(changed, id, session)| {
                let comes_after = query
                    .before
                    .as_ref()
                    .is_none_or(|(at, last)| (*changed, *id) < (*at, last));
                let is_selected = query.session.as_ref().is_none_or(|session| session == *id);
                is_selected
                    && comes_after
                    && text.as_ref().is_none_or(|text| session.contains_text(text))
                    && session.has_labels(query)
            })
            .collect();
        found.sort_unstable_by(|one, other| (other.0, other.1).cmp(&(one.0, one.1)));
        let rows = found.into_iter().take(query.limit);
        Ok(rows
            .map(|(_, id, found)| found.to_row(id.clone(), self.holds.contains(id)))
            .collect())
    }

    async fn delete(&self, session: &SessionId) -> Result<(), JournalError> {
        let mut sessions = self.lock();
        let SessionTable {
            by_id,
            marks,
            max_deleted_epoch,
            shared,
            ..
        } = &mut *sessions;
        let Some(found) = by_id.get(session) else {
            return Err(unknown(session));
        };
        let (owned, epoch) = found.owner();
        if owned {
            let session = session.clone();
            return Err(JournalError::Owned { session });
        }
        if self.holds.contains(session) {
            let session = session.clone();
            return Err(JournalError::Held { session });
        }
        found.notify_deleted();
        marks.remove(session, found.mark_places());
        by_id.remove(session);
        shrink(by_id);
        shared.prune();
        // One number for all deleted sessions, so that deletions do not make the journal grow.
        *max_deleted_epoch = (*max_deleted_epoch).max(epoch);
        Ok(())
    }

    async fn label(&self, session: &SessionId, change: &LabelChange) -> Result<(), JournalError> {
        self.with_session(session, |found| found.label(change))
    }

    async fn mark_restored(&self, session: &SessionId) -> Result<(), JournalError> {
        self.with_session(session, SessionRows::mark_restored)
    }

    async fn due(&self, now: WallTime, most: usize) -> Result<DueSessions, JournalError> {
        let sessions = self.lock();
        let all = sessions.by_id.iter();
        let mut all: Vec<(WallTime, SessionId)> = all
            .filter_map(|(id, session)| Some((session.due()?, id.clone())))
            .collect();
        all.sort_unstable();
        let count = all.iter().take_while(|(at, _)| *at <= now).count();
        let next = all.get(count).map(|(at, _)| *at);
        let due = all.into_iter().take(count.min(most));
        Ok(DueSessions {
            next: if count > most { Some(now) } else { next },
            sessions: due.map(|(_, id)| id).collect(),
        })
    }

    async fn waits(&self, query: &WaitQuery) -> Result<Vec<ListedWait>, JournalError> {
        let sessions = self.lock();
        let all = sessions.by_id.iter();
        Ok(query.select(all.flat_map(|(id, found)| found.waits(id))))
    }

    async fn find(
        &self,
        principal: &str,
        marks: &[Mark],
        most: usize,
    ) -> Result<Vec<FoundTurn>, JournalError> {
        Ok(self.lock().marks.find(principal, marks, most))
    }

    async fn close(&self) {
        let mut sessions = self.lock();
        let all = sessions.by_id.values_mut();
        all.for_each(|session| session.release_by(self.process));
    }

    fn is_durable(&self) -> bool {
        false
    }

    fn spending(&self) -> Option<&dyn SpendingLog> {
        (!self.is_ephemeral).then_some(self)
    }

    fn directory(&self) -> Option<&dyn Directory> {
        (!self.is_ephemeral).then_some(self)
    }

    fn logins(&self) -> Option<&dyn Logins> {
        (!self.is_ephemeral).then_some(self)
    }

    fn upstream_responses(&self) -> Option<&dyn UpstreamResponses> {
        (!self.is_ephemeral).then_some(self)
    }

    fn meters(&self) -> Option<&dyn Meters> {
        (!self.is_ephemeral).then_some(self)
    }

    fn secrets(&self) -> Option<&dyn Secrets> {
        (!self.is_ephemeral).then_some(self)
    }
}

fn delivery(record: &Record) -> Result<Delivery, DecodeError> {
    jackfield_record::decode_delivery(&record.joined()?)
}

fn read<R, T>(
    session: &SessionId,
    stored: &[R],
    read: impl Fn(&R) -> Result<T, DecodeError>,
) -> Result<Vec<T>, JournalError> {
    let read: Result<Vec<T>, _> = stored.iter().map(read).collect();
    read.map_err(|error| JournalError::Corrupt {
        session: session.clone(),
        source: error.into(),
    })
}

fn unknown(session: &SessionId) -> JournalError {
    JournalError::UnknownSession {
        session: session.clone(),
    }
}

fn system_time() -> WallTime {
    // A clock before 1970 counts as 1970.
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    WallTime::from_millis(0).after(since.unwrap_or_default())
}
