//! A journal in a file that cannot be written: reads work, and nothing is changed.
//!
//! SQLite reads a file with a write-ahead log by means of an index beside it, `-shm`, which it has to create. Where
//! it cannot, as on a file system that is mounted read-only, there are two cases:
//!
//! - **There is no log, or it is empty.** Then the file alone is the whole journal, and it is opened as immutable
//!   (`immutable=1`). SQLite takes no locks then and does not notice a writer. A process that writes to the file by
//!   another path would make reads wrong or fail, but would damage nothing.
//! - **There is a log.** The file lacks the last commits, so it alone is an older state. That is an error, whose
//!   message says what to do.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jackfield_domain::digest::Digest;
use jackfield_domain::directory::{DirectoryChange, EntryKind, EntryName};
use jackfield_domain::fact::Envelope;
use jackfield_domain::ids::{DeliveryId, SessionId};
use jackfield_domain::spending_record::SpendingRecord;
use jackfield_domain::time::WallTime;
use jackfield_domain::wait::{Delivery, DeliveryBody};
use jackfield_ports::journal::directory::{ChangeQuery, Changed, Directory, EntryQuery};
use jackfield_ports::journal::marks::{FoundTurn, Mark};
use jackfield_ports::journal::secrets::{SealedSecret, SecretPlace, Secrets};
use jackfield_ports::journal::sessions::{
    self, DueSessions, ListedWait, OpenWaitsMark, SessionQuery, WaitQuery,
};
use jackfield_ports::journal::spending::{SpendingLog, SpendingPage, SpendingQuery};
use jackfield_ports::journal::{
    Append, AppendRefusal, Appended, DeliveryOutcome, Epoch, Journal, JournalError, Lease, Loaded,
};
use rusqlite::Connection;

use crate::derived;
use crate::directory::{self, numbered_change, read_change};
use crate::error::{JobError, OpenError};
use crate::forms::{DIRECTORY_FORM, FORM, READABLE_FORM, SECRETS_FORM, SPENDING_FORM};
use crate::holds::Holds;
use crate::journal::errors::{damaged, unknown, unreadable};
use crate::listing::{self, Labels};
use crate::marks;
use crate::owners::Incarnation;
use crate::readers::{ReaderFactory, Readers};
use crate::recent::Recent;
use crate::records::{deliveries, steps};
use crate::restored::RestoredMarks;
use crate::rows::{self, StoredSession};
use crate::schema;
use crate::secrets;
use crate::spending;

/// Reads the sessions of a file that cannot be written. Every request that would write is refused.
pub struct ReadOnlyJournal {
    /// Whether the file has the tables of the directory.
    has_directory: bool,
    /// Whether the file has the table of secrets.
    has_secrets: bool,
    /// Whether the file has a table of spending records.
    has_spending: bool,
    path: PathBuf,
    readers: Arc<Readers>,
    recent: Arc<Recent>,
    incarnation: Arc<Incarnation>,
    labels: Labels,
}

impl ReadOnlyJournal {
    /// Opens an existing file. Nothing is changed, except that SQLite may create its index beside the file where it
    /// can.
    ///
    /// # Errors
    ///
    /// [`OpenError`], whose message says what to do.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, OpenError> {
        let path: PathBuf = path.into();
        let path = path
            .canonicalize()
            .map_err(|error| OpenError::io(&path, error))?;
        let (form, open): (i64, ReaderFactory) = match check_state(&path, schema::read_only) {
            Ok(form) => (form, schema::read_only),
            Err(ReadOnlyError::Store(JobError::ReadOnly(_))) if !has_log(&path) => {
                let form = check_state(&path, schema::immutable);
                let form = form.map_err(|error| error.into_open_error(&path))?;
                (form, schema::immutable)
            }
            Err(ReadOnlyError::Store(JobError::ReadOnly(_))) => {
                return Err(OpenError::NotRead {
                    path,
                    why: "the write-ahead log beside it cannot be used where nothing can be written: copy \
                          both files to a folder that can be written, and name the copy"
                        .into(),
                });
            }
            Err(error) => return Err(error.into_open_error(&path)),
        };
        Ok(Self {
            has_directory: form >= DIRECTORY_FORM,
            has_secrets: form >= SECRETS_FORM,
            has_spending: form >= SPENDING_FORM,
            labels: Labels::of_form(form),
            readers: Readers::new(path.clone(), open),
            recent: Arc::new(Recent::new(0)),
            incarnation: Arc::new(Incarnation::observer(&path)),
            path,
        })
    }

    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, JournalError> {
        let reading = self.readers.read(read);
        reading.await.map_err(|fault| self.unreachable(fault))
    }

    async fn read_session<T: Send + 'static>(
        &self,
        session: &SessionId,
        read: impl Fn(&Connection, &StoredSession) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, JournalError> {
        let id = session.clone();
        let reading = self.readers.read(move |connection| {
            let row = rows::session(connection, &id)?;
            row.map(|row| read(connection, &row)).transpose()
        });
        match reading.await {
            Ok(found) => found.ok_or_else(|| unknown(session)),
            Err(fault) if fault.is_damage() => Err(damaged(session, fault.with_path(&self.path))),
            Err(fault) => Err(self.unreachable(fault)),
        }
    }

    fn unreachable(&self, fault: JobError) -> JournalError {
        JournalError::Unreachable {
            source: fault.with_path(&self.path).into(),
        }
    }

    /// The error of every request that would write.
    fn refused(&self) -> JournalError {
        self.unreachable(JobError::ReadOnly(OPENED_TO_READ.into()))
    }
}

impl fmt::Debug for ReadOnlyJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadOnlyJournal").finish_non_exhaustive()
    }
}

#[async_trait]
impl Journal for ReadOnlyJournal {
    async fn own(&self, _: &SessionId) -> Result<Lease, JournalError> {
        Err(self.refused())
    }

    async fn release(&self, _: &SessionId, _: Epoch) -> Result<(), JournalError> {
        Err(self.refused())
    }

    async fn exists(&self, session: &SessionId) -> Result<bool, JournalError> {
        let id = session.clone();
        self.read(move |connection| Ok(rows::session(connection, &id)?.is_some()))
            .await
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

    async fn append(&self, _: &Append) -> Appended {
        let why = JobError::ReadOnly(OPENED_TO_READ.into()).with_path(&self.path);
        Appended::Refused(AppendRefusal::Unwritable {
            why: why.to_string().into(),
        })
    }

    async fn deliver(
        &self,
        _: &SessionId,
        _: DeliveryId,
        _: Arc<str>,
        _: DeliveryBody,
    ) -> Result<DeliveryOutcome, JournalError> {
        Err(self.refused())
    }

    async fn inbox(&self, session: &SessionId, from: u64) -> Result<Vec<Delivery>, JournalError> {
        loop {
            let read = self.read_session(session, move |connection, row| {
                deliveries(connection, row, from)
            });
            let deliveries = read.await?.map_err(|error| unreadable(session, error))?;
            if !deliveries.is_empty() {
                return Ok(deliveries);
            }
            tokio::time::sleep(LOOKS_AGAIN).await;
        }
    }

    async fn follow(&self, session: &SessionId, from: u64) -> Result<Vec<Envelope>, JournalError> {
        loop {
            let read =
                self.read_session(session, move |connection, row| match derived::newer(row) {
                    Some(newer) => Ok(Err(newer)),
                    None => steps(connection, row, from),
                });
            let steps = read.await?.map_err(|error| unreadable(session, error))?;
            if !steps.is_empty() {
                return Ok(steps);
            }
            tokio::time::sleep(LOOKS_AGAIN).await;
        }
    }

    async fn sessions(
        &self,
        query: &SessionQuery,
    ) -> Result<Vec<sessions::SessionRow>, JournalError> {
        let (us, query, path, labels) = (
            Arc::clone(&self.incarnation),
            query.clone(),
            self.path.clone(),
            self.labels,
        );
        self.read(move |connection| {
            let (holds, marked) = (Holds::new(&path), RestoredMarks::read(&path));
            listing::sessions(connection, &query, &us, &holds, &marked, labels)
        })
        .await
    }

    async fn delete(&self, _: &SessionId) -> Result<(), JournalError> {
        Err(self.refused())
    }

    async fn label(&self, _: &SessionId, _: &sessions::LabelChange) -> Result<(), JournalError> {
        Err(self.refused())
    }

    async fn mark_restored(&self, _: &SessionId) -> Result<(), JournalError> {
        Err(self.refused())
    }

    async fn due(&self, now: WallTime, most: usize) -> Result<DueSessions, JournalError> {
        let (us, path) = (Arc::clone(&self.incarnation), self.path.clone());
        self.read(move |connection| {
            listing::due(connection, now, most, &us, &RestoredMarks::read(&path))
        })
        .await
    }

    async fn waits(&self, query: &WaitQuery) -> Result<Vec<ListedWait>, JournalError> {
        let query = query.clone();
        self.read(move |connection| listing::waits(connection, &query))
            .await
    }

    async fn open_waits_mark(&self) -> Result<OpenWaitsMark, JournalError> {
        self.read(listing::open_waits_mark).await
    }

    async fn find(
        &self,
        principal: &str,
        marks: &[Mark],
        most: usize,
    ) -> Result<Vec<FoundTurn>, JournalError> {
        let (principal, marks) = (principal.to_owned(), marks.to_vec());
        self.read(move |connection| marks::find(connection, &principal, &marks, most))
            .await
    }

    /// Closes the file. All later requests fail.
    async fn close(&self) {
        self.readers.close().await;
    }

    fn spending(&self) -> Option<&dyn SpendingLog> {
        let log: &dyn SpendingLog = self;
        self.has_spending.then_some(log)
    }

    fn directory(&self) -> Option<&dyn Directory> {
        let directory: &dyn Directory = self;
        self.has_directory.then_some(directory)
    }

    fn secrets(&self) -> Option<&dyn Secrets> {
        let secrets: &dyn Secrets = self;
        self.has_secrets.then_some(secrets)
    }
}

#[async_trait]
impl Secrets for ReadOnlyJournal {
    async fn change_with_secrets(
        &self,
        _: &DirectoryChange,
        _: &[SealedSecret],
    ) -> Result<Changed, JournalError> {
        Err(self.refused())
    }

    async fn secrets_of(
        &self,
        kind: EntryKind,
        entry: &EntryName,
    ) -> Result<Vec<SealedSecret>, JournalError> {
        let entry = entry.clone();
        self.read(move |connection| secrets::of(connection, kind.as_str(), entry.as_str()))
            .await
    }

    async fn page(
        &self,
        after: Option<&SecretPlace>,
        limit: usize,
    ) -> Result<Vec<(SecretPlace, SealedSecret)>, JournalError> {
        let after = after.cloned();
        self.read(move |connection| secrets::page(connection, after.as_ref(), limit))
            .await
    }

    async fn reseal(
        &self,
        _: &SecretPlace,
        _: &SealedSecret,
        _: &SealedSecret,
    ) -> Result<bool, JournalError> {
        Err(self.refused())
    }

    async fn master_keys(&self) -> Result<BTreeMap<Arc<str>, u64>, JournalError> {
        self.read(secrets::master_keys).await
    }
}

#[async_trait]
impl Directory for ReadOnlyJournal {
    async fn change(&self, _: &DirectoryChange) -> Result<Changed, JournalError> {
        Err(self.refused())
    }

    async fn entry(
        &self,
        kind: EntryKind,
        name: &EntryName,
    ) -> Result<Option<DirectoryChange>, JournalError> {
        let name = name.clone();
        let found = self.read(move |connection| directory::entry(connection, kind, name.as_str()));
        found.await?.as_ref().map(read_change).transpose()
    }

    async fn entries(&self, query: &EntryQuery) -> Result<Vec<DirectoryChange>, JournalError> {
        let query = query.clone();
        let found = self.read(move |connection| directory::entries(connection, &query));
        found.await?.iter().map(read_change).collect()
    }

    async fn find_key(&self, secret: &Digest) -> Result<Option<DirectoryChange>, JournalError> {
        let secret = *secret;
        let found = self.read(move |connection| directory::find_key(connection, &secret));
        found.await?.as_ref().map(read_change).transpose()
    }

    async fn has_keys(&self) -> Result<bool, JournalError> {
        self.read(directory::has_keys).await
    }

    async fn changes(
        &self,
        query: &ChangeQuery,
    ) -> Result<Vec<(u64, DirectoryChange)>, JournalError> {
        let query = query.clone();
        let found = self.read(move |connection| directory::changes(connection, &query));
        found.await?.iter().map(numbered_change).collect()
    }
}

#[async_trait]
impl SpendingLog for ReadOnlyJournal {
    async fn record(&self, _: &SpendingRecord) -> Result<bool, JournalError> {
        Err(self.refused())
    }

    async fn records(&self, query: &SpendingQuery) -> Result<SpendingPage, JournalError> {
        let query = query.clone();
        self.read(move |connection| spending::page(connection, &query))
            .await
    }

    async fn delete_before(&self, _: WallTime, _: usize) -> Result<usize, JournalError> {
        Err(self.refused())
    }
}

/// Why a file was not opened for reading.
enum ReadOnlyError {
    Form(schema::DatabaseState),
    Store(JobError),
}

impl ReadOnlyError {
    fn into_open_error(self, path: &Path) -> OpenError {
        let path = path.to_owned();
        let why = match self {
            Self::Form(schema::DatabaseState::Newer(found)) => {
                let known = FORM;
                return OpenError::Newer { found, known, path };
            }
            Self::Form(schema::DatabaseState::Older(_)) => {
                "it has to be brought up to date first: copy it to a folder that can be written, and name \
                 the copy"
                    .into()
            }
            Self::Form(schema::DatabaseState::NotOurs | schema::DatabaseState::Ready) => {
                return OpenError::NotOurs { path };
            }
            Self::Store(JobError::ReadOnly(why)) => why,
            Self::Store(fault) => fault.to_string().into(),
        };
        OpenError::NotRead { path, why }
    }
}

/// Opens the file with this factory; its form, if it can be read.
fn check_state(path: &Path, open: ReaderFactory) -> Result<i64, ReadOnlyError> {
    let found = open(path).and_then(|connection| schema::read_state(&connection));
    match found {
        Ok(schema::DatabaseState::Ready) => Ok(FORM),
        Ok(schema::DatabaseState::Older(form)) if form >= READABLE_FORM => Ok(form),
        Ok(form) => Err(ReadOnlyError::Form(form)),
        Err(error) => Err(ReadOnlyError::Store(JobError::from_sqlite(&error))),
    }
}

/// Whether there is a write-ahead log beside the file that is not empty.
fn has_log(path: &Path) -> bool {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    std::fs::metadata(PathBuf::from(name)).is_ok_and(|log| log.len() > 0)
}

/// The reason in the errors of requests that would write.
const OPENED_TO_READ: &str = "it was opened to be read";
/// The interval at which a file that another process may write to is read again.
const LOOKS_AGAIN: Duration = Duration::from_millis(200);
