//! The journal of conversations: a file of the user, or memory for the life of the process.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jackfield_engine::Retention;
use jackfield_ports::journal::Journal;
use jackfield_store_memory::MemoryJournal;
use jackfield_store_sqlite::{OpenError, Options, ReadOnlyJournal, SqliteJournal};
use thiserror::Error;

use crate::config::Config;
use crate::place::{Origin, ValueSource};

/// The journal's configuration.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct JournalConfig {
    /// The total size of conversations in bytes before the oldest are deleted; `None` for no limit.
    pub keep_bytes: Option<u64>,
    /// How many days an unused conversation is kept; `None` for ever.
    pub keep_days: Option<u32>,
    /// The kind of journal.
    pub kind: JournalKind,
    /// The maximum size of the file in bytes; `None` for no limit.
    pub max_size: Option<u64>,
    /// The configured file, and where it is configured; by default, a file in the user's data folder.
    pub path: Option<(PathBuf, ValueSource)>,
}

/// The kind of journal.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum JournalKind {
    /// Memory: conversations end with the process.
    Memory,
    /// A SQLite file.
    #[default]
    Sqlite,
}

/// An open journal.
#[derive(Clone)]
#[non_exhaustive]
pub struct OpenJournal {
    /// The file, unless the journal is in memory.
    pub file: Option<Arc<SqliteJournal>>,
    /// The journal.
    pub journal: Arc<dyn Journal>,
    /// The reason why the file is open for reading only, if it is.
    pub read_only: Option<ReadOnly>,
    /// The reason why the journal is in memory although that was not configured.
    pub not_persisted: Option<NoJournalReason>,
}

/// A file that is open for reading only.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReadOnly {
    /// The chain of causes, the first cause first.
    pub causes: Vec<String>,
    file: Arc<ReadOnlyJournal>,
}

/// The reason why conversations are not stored.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct NoJournalReason {
    /// The chain of causes, the first cause first.
    pub causes: Vec<String>,
    /// Help.
    pub help: &'static str,
}

/// The error for a named journal that cannot be opened.
#[derive(Debug, Error)]
#[error("{place}: conversations cannot be kept there")]
#[non_exhaustive]
pub struct JournalOpenError {
    /// Where the file was named.
    pub place: ValueSource,
    /// The cause, which has help of its own.
    #[source]
    pub source: OpenError,
}

impl JournalOpenError {
    /// Help beyond that of the cause.
    #[must_use]
    pub fn help(&self) -> String {
        if matches!(self.source, OpenError::ReadOnly { .. }) {
            return WRITABLE.to_owned();
        }
        let another = if matches!(self.source, OpenError::Io { .. }) {
            "a file that can be written"
        } else {
            "another file"
        };
        let help = match self.place.origin {
            Origin::Default => format!("name {another} with `--db FILE` or JACKFIELD_DB"),
            Origin::File(_) | Origin::Flag(_) | Origin::Variable(_) => {
                format!("name {another}, or leave {} out", self.place.short())
            }
        };
        if matches!(self.source, OpenError::Damaged { .. }) {
            return format!(
                "{help}; where it is the file of your sessions, put a copy in its place, or what \
                 `sqlite3 FILE .recover` finds in it"
            );
        }
        help
    }
}

impl JournalConfig {
    /// The retention of unused sessions.
    #[must_use]
    pub fn retention(&self) -> Retention {
        let day = Duration::from_secs(24 * 60 * 60);
        Retention {
            older_than: self.keep_days.map(|days| day.saturating_mul(days)),
            max_bytes: self.keep_bytes,
            min_age: Duration::ZERO,
        }
    }

    /// Sets the file, and selects the SQLite journal.
    pub(crate) fn set_path(&mut self, path: PathBuf, place: ValueSource) {
        self.kind = JournalKind::Sqlite;
        self.path = Some((path, place));
    }

    /// Makes the path of the file absolute.
    pub(crate) fn resolve(&mut self, resolve: impl Fn(&str) -> PathBuf) {
        if let Some((path, _)) = &mut self.path
            && let Some(text) = path.to_str()
        {
            *path = resolve(text);
        }
    }
}

impl Config {
    /// The journal's file; `None` for a journal in memory, or if the user has no data folder.
    #[must_use]
    pub fn journal_file(&self) -> Option<PathBuf> {
        match (self.journal.kind, &self.journal.path) {
            (JournalKind::Memory, _) => None,
            (JournalKind::Sqlite, Some((path, _))) => Some(path.clone()),
            (JournalKind::Sqlite, None) => Some(self.data.as_deref()?.join(FILE_NAME)),
        }
    }

    /// Opens the journal. Blocks meanwhile. The open journal must be used within a Tokio runtime.
    ///
    /// If no file was configured and the default one cannot be used, the journal is in memory, with the reason.
    ///
    /// # Errors
    ///
    /// [`JournalOpenError`] if a named file cannot be opened.
    pub fn open_journal(&self) -> Result<OpenJournal, JournalOpenError> {
        self.open(Err)
    }

    /// Opens the journal for reading: a read-only file is accepted.
    ///
    /// # Errors
    ///
    /// [`JournalOpenError`] if a named file cannot be opened.
    pub fn open_journal_to_read(&self) -> Result<OpenJournal, JournalOpenError> {
        self.open(|source| {
            if let OpenError::ReadOnly { path, .. } = &source {
                let file = Arc::new(ReadOnlyJournal::open(path)?);
                return Ok(OpenJournal::read_only(file, chain(&source)));
            }
            Err(source)
        })
    }

    fn open(
        &self,
        otherwise: impl FnOnce(OpenError) -> Result<OpenJournal, OpenError>,
    ) -> Result<OpenJournal, JournalOpenError> {
        if self.journal.kind == JournalKind::Memory {
            return Ok(OpenJournal::in_memory());
        }
        let Some(path) = self.journal_file() else {
            return Ok(OpenJournal::not_persisted(vec![NO_FOLDER.to_owned()]));
        };
        let mut options = Options::default();
        options.max_bytes = self.journal.max_size;
        let opened = SqliteJournal::open(path, options).map(OpenJournal::from_file);
        match opened.or_else(otherwise) {
            Ok(journal) => Ok(journal),
            Err(source) => match &self.journal.path {
                Some((_, place)) => {
                    let place = place.clone();
                    Err(JournalOpenError { place, source })
                }
                None => Self::without(source),
            },
        }
    }

    /// The fallback for the default file. If that exists but cannot be used, the reason is reported.
    fn without(source: OpenError) -> Result<OpenJournal, JournalOpenError> {
        match source {
            OpenError::Io { .. }
            | OpenError::NotAFile { .. }
            | OpenError::NotRead { .. }
            | OpenError::ReadOnly { .. }
            | OpenError::Store { .. } => Ok(OpenJournal::not_persisted(chain(&source))),
            OpenError::Damaged { .. }
            | OpenError::InUse { .. }
            | OpenError::Newer { .. }
            | OpenError::NotOurs { .. }
            | _ => {
                let place = Origin::Default.into();
                Err(JournalOpenError { place, source })
            }
        }
    }
}

impl OpenJournal {
    /// A journal in memory, for the life of the process.
    #[must_use]
    pub fn in_memory() -> Self {
        Self {
            file: None,
            journal: Arc::new(MemoryJournal::default()),
            read_only: None,
            not_persisted: None,
        }
    }

    /// A journal in memory for short-lived sessions, without listing and search.
    #[must_use]
    pub fn ephemeral() -> Self {
        Self {
            journal: Arc::new(MemoryJournal::new().ephemeral()),
            ..Self::in_memory()
        }
    }

    fn not_persisted(causes: Vec<String>) -> Self {
        let help = HELP;
        Self {
            not_persisted: Some(NoJournalReason { causes, help }),
            ..Self::in_memory()
        }
    }

    fn from_file(journal: SqliteJournal) -> Self {
        let file = Arc::new(journal);
        let journal: Arc<dyn Journal> = Arc::<SqliteJournal>::clone(&file);
        Self {
            file: Some(file),
            journal,
            read_only: None,
            not_persisted: None,
        }
    }

    fn read_only(file: Arc<ReadOnlyJournal>, causes: Vec<String>) -> Self {
        Self {
            file: None,
            journal: Arc::<ReadOnlyJournal>::clone(&file),
            read_only: Some(ReadOnly { causes, file }),
            not_persisted: None,
        }
    }

    /// Writes what was requested so far, and releases every session. Afterwards everything else fails.
    pub async fn close(&self) {
        if let Some(file) = &self.file {
            file.close().await;
        }
        if let Some(read_only) = &self.read_only {
            read_only.file.close();
        }
    }
}

impl std::fmt::Debug for OpenJournal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenJournal")
            .field("file", &self.file)
            .field("read_only", &self.read_only)
            .field("unkept", &self.not_persisted)
            .finish_non_exhaustive()
    }
}

/// An error and its sources.
fn chain(error: &(dyn std::error::Error + 'static)) -> Vec<String> {
    let chain = std::iter::successors(Some(error), |error| (*error).source());
    chain.map(ToString::to_string).collect()
}

/// The name of the default file.
const FILE_NAME: &str = "jackfield.db";

/// The reason without a data folder.
const NO_FOLDER: &str = "the user has no folder for data";

/// Help for a read-only file.
const WRITABLE: &str = "give yourself the right to write to the file and to its folder, or copy both it and what \
                        stands beside it to a folder that can be written, and name the copy with `--db FILE`";

/// Help if conversations are not stored.
const HELP: &str = "name a file that can be written with `--db FILE` or JACKFIELD_DB, or say \
                    `kind = \"memory\"` under [journal]";
