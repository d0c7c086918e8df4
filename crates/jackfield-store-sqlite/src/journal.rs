//! The journal on a file that can be written.

mod directory;
pub(crate) mod errors;
mod inspection;
mod labels;
mod logins;
mod meters;
mod secrets;
mod spending;
mod upstream_responses;

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

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
    Append, AppendRefusal, Appended, DeliveryOutcome, Epoch, Hold, Journal, JournalError, Lease,
    Loaded,
};
use rusqlite::Connection;

use self::errors::{not_owned, unknown, unreadable};
use crate::arrivals::{Arrivals, Awaited, WatchError};
use crate::commit::{self, TakenSession};
use crate::error::{JobError, OpenError};
use crate::file::WriteFile;
use crate::holds::Holds;
use crate::jobs::ConcurrentWriters;
use crate::listing::{self, Labels};
use crate::opened::{self, ReadyFile};
use crate::options::{NowFn, Options};
use crate::owned::OwnedSessions;
use crate::owners::{FormLock, Incarnation};
use crate::readers::Readers;
use crate::recent::Recent;
use crate::records::{deliveries, steps};
use crate::requests::{AppendJob, DeliverJob};
use crate::restored::{self, RestoredMarks};
use crate::witness::Witness;
use crate::writer::FileWriter;
use crate::{derived, marks, rows, schema};

/// Stores the facts and the inbox of every session in one SQLite file.
///
/// The work runs mostly on threads of its own. Its futures may be dropped at any time: a request is then done or
/// not done as a whole. All methods must be called within a Tokio runtime.
pub struct SqliteJournal {
    arrivals: Arc<Arrivals>,
    clock: NowFn,
    /// Keeps other processes from migrating the file while it is open here.
    _form: FormLock,
    holds: Holds,
    owned: OwnedSessions,
    path: PathBuf,
    readers: Arc<Readers>,
    recent: Arc<Recent>,
    incarnation: Mutex<Option<Arc<Incarnation>>>,
    watcher: Mutex<Option<JoinHandle<()>>>,
    witness: Witness,
    writer: FileWriter,
}

impl SqliteJournal {
    /// Opens a file. A missing file is created with the folders above it, readable only by its owner. Blocks
    /// meanwhile.
    ///
    /// # Errors
    ///
    /// [`OpenError`], whose message says what to do.
    pub fn open(path: impl Into<PathBuf>, options: Options) -> Result<Self, OpenError> {
        let path: PathBuf = path.into();
        let ReadyFile {
            connection,
            form,
            path,
            location: place,
            witness,
        } = opened::open(&path)?;
        let io = |error| OpenError::io(&path, error);
        let store = |error: rusqlite::Error| OpenError::store(&path, &error);
        // Set only now, as the migration must not be subject to the limits on time and size.
        let file = WriteFile::new(connection, place, &options).map_err(store)?;
        let incarnation = Arc::new(Incarnation::start(&path).map_err(io)?);
        let arrivals = Arc::new(Arrivals::default());
        let watcher = arrivals.watch(&path).map_err(|error| match error {
            WatchError::Io(error) => io(error),
            WatchError::Store(error) => store(error),
        })?;
        let writer = FileWriter::start(file, options.inline_limit).map_err(io)?;
        Ok(Self {
            arrivals,
            clock: options.clock,
            _form: form,
            holds: Holds::new(&path),
            owned: OwnedSessions::default(),
            readers: Readers::new(path.clone(), schema::connect_reader),
            recent: Arc::new(Recent::new(options.recent_bytes)),
            path,
            incarnation: Mutex::new(Some(incarnation)),
            watcher: Mutex::new(Some(watcher)),
            witness,
            writer,
        })
    }

    /// Reads from a session: inline if the session is short, otherwise away from the threads of the runtime.
    async fn read_session<T: Send + 'static>(
        &self,
        session: &SessionId,
        read: impl Fn(&Connection, &rows::StoredSession) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, JournalError> {
        if let Some(now) = self.read_session_inline(session, &read) {
            let found = now.map_err(|fault| self.session_error(session, fault))?;
            return found.ok_or_else(|| unknown(session));
        }
        let id = session.clone();
        let reading = self.readers.read(move |connection| {
            let row = rows::session(connection, &id)?;
            row.map(|row| read(connection, &row)).transpose()
        });
        let found = reading
            .await
            .map_err(|fault| self.session_error(session, fault))?;
        found.ok_or_else(|| unknown(session))
    }

    /// Reads from a session inline if it is short and the read has to wait for nothing; `None` if there is no such
    /// session.
    fn read_session_inline<T>(
        &self,
        session: &SessionId,
        read: impl Fn(&Connection, &rows::StoredSession) -> rusqlite::Result<T>,
    ) -> Option<Result<Option<T>, JobError>> {
        let read_short = |connection: &Connection| match rows::session(connection, session)? {
            Some(row) if row.is_short() => Ok(Some(Some(read(connection, &row)?))),
            Some(_) => Ok(None),
            None => Ok(Some(None)),
        };
        // A sole writer mostly reads what it has just written, which its connection still has cached.
        if self.owned.concurrent_writers(session) == ConcurrentWriters::Alone
            && let Some(now) = self.writer.read_now(read_short)
        {
            return Some(now);
        }
        self.writer
            .is_quick()
            .then(|| self.readers.read_now(read_short))?
    }

    /// Locks a file beside the database, away from the threads of the runtime.
    async fn lock_blocking<T: Send + 'static>(
        &self,
        lock: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> Result<T, JournalError> {
        let locked = tokio::task::spawn_blocking(lock).await;
        let locked = locked.unwrap_or_else(|error| Err(io::Error::other(error)));
        locked.map_err(|error| JournalError::Unreachable {
            source: error.into(),
        })
    }

    fn incarnation(&self) -> Result<Arc<Incarnation>, JournalError> {
        let incarnation = self
            .incarnation
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        incarnation.ok_or_else(|| self.unreachable(JobError::Closed))
    }
}

impl fmt::Debug for SqliteJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteJournal").finish_non_exhaustive()
    }
}

#[async_trait]
impl Journal for SqliteJournal {
    async fn own(&self, session: &SessionId) -> Result<Lease, JournalError> {
        let (incarnation, clock, id) = (
            self.incarnation()?,
            Arc::clone(&self.clock),
            session.clone(),
        );
        let work =
            move |connection: &Connection| commit::own(connection, &id, &incarnation, clock());
        // The first append syncs it, too. If it is lost before, no live process has relied on it.
        let owning = self
            .writer
            .execute_unsynced(self.owned.concurrent_writers(session), work);
        match owning
            .await
            .map_err(|failed| self.session_error(session, failed.fault))?
        {
            Ok(TakenSession { epoch, row }) => {
                self.owned.add(session, epoch, row);
                Ok(Lease::unlimited(epoch))
            }
            Err(why) => Err(not_owned(session, why)),
        }
    }

    async fn release(&self, session: &SessionId, epoch: Epoch) -> Result<(), JournalError> {
        let (incarnation, id) = (self.incarnation()?, session.clone());
        let work =
            move |connection: &Connection| commit::release(connection, &id, epoch, &incarnation);
        // A loss of power releases every session anyway.
        let released = self
            .writer
            .execute_unsynced(self.owned.concurrent_writers(session), work);
        let released = released
            .await
            .map_err(|failed| self.unreachable(failed.fault));
        if self.owned.remove(session, epoch) {
            self.writer.pause();
        }
        released
    }

    async fn hold(&self, session: &SessionId) -> Result<Hold, JournalError> {
        let (holds, id) = (self.holds.clone(), session.clone());
        let locked = self.lock_blocking(move || holds.hold(&id)).await?;
        Ok(Hold::new(locked))
    }

    async fn exists(&self, session: &SessionId) -> Result<bool, JournalError> {
        let id = session.clone();
        let read = move |connection: &Connection| Ok(rows::session(connection, &id)?.is_some());
        let read = self.readers.read(read).await;
        read.map_err(|fault| self.unreachable(fault))
    }

    async fn load(&self, session: &SessionId) -> Result<Loaded, JournalError> {
        let (id, recent) = (session.clone(), Arc::clone(&self.recent));
        let read = self.read_session(session, move |connection, row| {
            if let Some(newer) = derived::newer(row) {
                return Ok(Err(newer));
            }
            recent.load(connection, &id, row)
        });
        let mut loaded = read.await?.map_err(|error| unreadable(session, error))?;
        let marked = RestoredMarks::read(&self.path);
        loaded.restored = marked.contains(session, loaded.steps.len() as u64);
        Ok(loaded)
    }

    async fn append(&self, append: &Append) -> Appended {
        let job = match AppendJob::from_append(append) {
            Ok(appending) => appending,
            Err(error) => {
                let why = error.to_string().into();
                return Appended::Refused(AppendRefusal::Unwritable { why });
            }
        };
        let clock = Arc::clone(&self.clock);
        let known = self.owned.row(&append.session);
        let work = move |connection: &Connection| {
            commit::append(connection, &job, known.as_deref(), clock())
        };
        let concurrency = self.owned.concurrent_writers(&append.session);
        match self.writer.execute(concurrency, work).await {
            Ok(Ok(known)) => {
                self.owned.update_row(&append.session, known);
                // The witness must know the append before anything relies on it.
                let steps = append.position + append.steps.len() as u64;
                self.witness.record(&append.session, steps);
                self.arrivals.notify(&append.session, Awaited::Steps);
                Appended::Committed
            }
            Ok(Err(refusal)) => Appended::Refused(refusal),
            Err(failed) if !failed.may_be_done && failed.fault.is_permanent() => {
                let why = failed.fault.with_path(&self.path).to_string().into();
                Appended::Refused(AppendRefusal::Unwritable { why })
            }
            Err(failed) => Appended::Unknown(failed.fault.with_path(&self.path).into()),
        }
    }

    async fn deliver(
        &self,
        session: &SessionId,
        id: DeliveryId,
        by: Arc<str>,
        body: DeliveryBody,
    ) -> Result<DeliveryOutcome, JournalError> {
        let job = DeliverJob {
            body,
            by,
            id,
            session: session.clone(),
        };
        let clock = Arc::clone(&self.clock);
        // The record that a reply was written may be lost: then the reply is still owed and is sent again.
        let is_forgettable = matches!(job.body, DeliveryBody::Written { .. });
        let work = move |connection: &Connection| commit::deliver(connection, &job, clock());
        let concurrency = self.owned.concurrent_writers(session);
        let delivered = if is_forgettable {
            self.writer.execute_unsynced(concurrency, work).await
        } else {
            self.writer.execute(concurrency, work).await
        };
        let delivered = delivered.map_err(|failed| self.session_error(session, failed.fault))?;
        let delivered = delivered.map_err(|why| not_owned(session, why))?;
        if delivered == DeliveryOutcome::Accepted {
            self.arrivals.notify(session, Awaited::Deliveries);
        }
        Ok(delivered)
    }

    async fn inbox(&self, session: &SessionId, from: u64) -> Result<Vec<Delivery>, JournalError> {
        let waiting = self.arrivals.wait(session, Awaited::Deliveries);
        loop {
            // Created before the read, so that no arrival in between is missed.
            let arrival = waiting.arrived.notified();
            let read = self.read_session(session, move |connection, row| {
                deliveries(connection, row, from)
            });
            let deliveries = read.await?.map_err(|error| unreadable(session, error))?;
            if !deliveries.is_empty() {
                return Ok(deliveries);
            }
            arrival.await;
        }
    }

    async fn follow(&self, session: &SessionId, from: u64) -> Result<Vec<Envelope>, JournalError> {
        let following = self.arrivals.wait(session, Awaited::Steps);
        loop {
            let growth = following.arrived.notified();
            let read =
                self.read_session(session, move |connection, row| match derived::newer(row) {
                    Some(newer) => Ok(Err(newer)),
                    None => steps(connection, row, from),
                });
            let steps = read.await?.map_err(|error| unreadable(session, error))?;
            if !steps.is_empty() {
                return Ok(steps);
            }
            growth.await;
        }
    }

    async fn sessions(&self, query: &SessionQuery) -> Result<Vec<SessionRow>, JournalError> {
        let (incarnation, query, holds) = (self.incarnation()?, query.clone(), self.holds.clone());
        let path = self.path.clone();
        let read = move |connection: &Connection| {
            let marked = RestoredMarks::read(&path);
            listing::sessions(
                connection,
                &query,
                &incarnation,
                &holds,
                &marked,
                Labels::All,
            )
        };
        let read = self.readers.read(read).await;
        read.map_err(|fault| self.unreachable(fault))
    }

    async fn label(&self, session: &SessionId, change: &LabelChange) -> Result<(), JournalError> {
        self.change_labels(session, change).await
    }

    async fn delete(&self, session: &SessionId) -> Result<(), JournalError> {
        let (incarnation, id) = (self.incarnation()?, session.clone());
        let (holds, held) = (self.holds.clone(), session.clone());
        let exclusive_hold = self
            .lock_blocking(move || holds.try_exclusive(&held))
            .await?;
        // The lock moves into the job and is held until the commit, even if this future is dropped.
        let work = move |connection: &Connection| {
            commit::delete(connection, &id, &incarnation, exclusive_hold.as_ref())
        };
        // Before the deletion, so that no process takes the session for lost.
        self.witness.clear_session(session);
        let deleted = self
            .writer
            .execute_and_wipe(work)
            .await
            .map_err(|failed| self.unreachable(failed.fault))?;
        deleted.map_err(|why| not_owned(session, why))?;
        self.recent.invalidate(session);
        self.arrivals.notify(session, Awaited::Deliveries);
        self.arrivals.notify(session, Awaited::Steps);
        Ok(())
    }

    async fn mark_restored(&self, session: &SessionId) -> Result<(), JournalError> {
        let (id, path) = (session.clone(), self.path.clone());
        let read = move |connection: &Connection| {
            let row = rows::session(connection, &id)?;
            Ok(row.map(|row| {
                let why = format!("sessions of {} were marked as restored", path.display());
                let marked = (id.as_str().to_owned(), row.steps);
                restored::mark(&path, &why, &[marked])
            }))
        };
        let marked = self.readers.read(read).await;
        let marked = marked.map_err(|fault| self.session_error(session, fault))?;
        let marked = marked.ok_or_else(|| unknown(session))?;
        marked.map_err(|error| JournalError::Unreachable {
            source: error.into(),
        })
    }

    async fn due(&self, now: WallTime, most: usize) -> Result<DueSessions, JournalError> {
        let incarnation = self.incarnation()?;
        let path = self.path.clone();
        let read = move |connection: &Connection| {
            listing::due(
                connection,
                now,
                most,
                &incarnation,
                &RestoredMarks::read(&path),
            )
        };
        let read = self.readers.read(read).await;
        read.map_err(|fault| self.unreachable(fault))
    }

    async fn waits(&self, query: &WaitQuery) -> Result<Vec<ListedWait>, JournalError> {
        let query = query.clone();
        let read = move |connection: &Connection| listing::waits(connection, &query);
        let read = self.readers.read(read).await;
        read.map_err(|fault| self.unreachable(fault))
    }

    async fn open_waits_mark(&self) -> Result<OpenWaitsMark, JournalError> {
        let read = self.readers.read(listing::open_waits_mark).await;
        read.map_err(|fault| self.unreachable(fault))
    }

    async fn find(
        &self,
        principal: &str,
        marks: &[Mark],
        most: usize,
    ) -> Result<Vec<FoundTurn>, JournalError> {
        let (principal, marks) = (principal.to_owned(), marks.to_vec());
        let read = move |connection: &Connection| marks::find(connection, &principal, &marks, most);
        let read = self.readers.read(read).await;
        read.map_err(|fault| self.unreachable(fault))
    }

    /// Writes all requests made so far, then releases the file and every session: other processes see this one as
    /// dead. All later requests fail.
    async fn close(&self) {
        self.end().await;
    }

    fn admin(&self) -> Option<&dyn JournalAdmin> {
        Some(self)
    }

    fn spending(&self) -> Option<&dyn SpendingLog> {
        Some(self)
    }

    fn directory(&self) -> Option<&dyn Directory> {
        Some(self)
    }

    fn logins(&self) -> Option<&dyn Logins> {
        Some(self)
    }

    fn upstream_responses(&self) -> Option<&dyn UpstreamResponses> {
        Some(self)
    }

    fn meters(&self) -> Option<&dyn Meters> {
        Some(self)
    }

    fn secrets(&self) -> Option<&dyn Secrets> {
        Some(self)
    }
}
