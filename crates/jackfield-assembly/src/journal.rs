//! Where conversations are kept: in one file of the user, or as long as the process lasts.

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

/// What is configured of the journal.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct JournalConfig {
    /// How many bytes the conversations may have together before the oldest go; `None` is any number.
    pub keep_bytes: Option<u64>,
    /// How many days a conversation is kept that nobody goes on with; `None` is for ever.
    pub keep_days: Option<u32>,
    /// In what.
    pub kind: JournalKind,
    /// The most bytes that the file may grow to; `None` is as far as there is room.
    pub max_size: Option<u64>,
    /// The file that was named, and where it is; none is the one of the user's data folder.
    pub path: Option<(PathBuf, ValueSource)>,
}

/// What conversations are kept in.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum JournalKind {
    /// Memory: they end with the process.
    Memory,
    /// One SQLite file.
    #[default]
    Sqlite,
}

/// A journal that is open.
#[derive(Clone)]
#[non_exhaustive]
pub struct OpenJournal {
    /// The file, unless it is all in memory.
    pub file: Option<Arc<SqliteJournal>>,
    /// The journal.
    pub journal: Arc<dyn Journal>,
    /// The file, where it cannot be written and is only read, and why.
    pub read_only: Option<ReadOnly>,
    /// Why it is in memory although nobody wanted that, and what to do about it.
    pub unkept: Option<NoJournalReason>,
}

/// A file that is only read.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReadOnly {
    /// The causes of each other, the first one before all.
    pub causes: Vec<String>,
    file: Arc<ReadOnlyJournal>,
}

/// Why nothing is kept.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct NoJournalReason {
    /// The causes of each other, the first one before all.
    pub causes: Vec<String>,
    /// What to do about it.
    pub help: &'static str,
}

/// A journal that was named and cannot be opened.
#[derive(Debug, Error)]
#[error("{place}: conversations cannot be kept there")]
#[non_exhaustive]
pub struct JournalOpenError {
    /// Where the file was named.
    pub place: ValueSource,
    /// Why, and what to do about it.
    #[source]
    pub source: OpenError,
}

impl JournalOpenError {
    /// What to do about it, besides what it says itself.
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
    /// What is kept of sessions that nobody goes on with.
    #[must_use]
    pub fn retention(&self) -> Retention {
        let day = Duration::from_secs(24 * 60 * 60);
        Retention {
            older_than: self.keep_days.map(|days| day.saturating_mul(days)),
            over: self.keep_bytes,
            spared: Duration::ZERO,
        }
    }

    /// Takes a file that was named, which is what conversations are kept in from then on.
    pub(crate) fn name(&mut self, path: PathBuf, place: ValueSource) {
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
    /// The file that conversations are kept in; none where they are kept in memory, and where the user has
    /// no folder for data.
    #[must_use]
    pub fn journal_file(&self) -> Option<PathBuf> {
        match (self.journal.kind, &self.journal.path) {
            (JournalKind::Memory, _) => None,
            (JournalKind::Sqlite, Some((path, _))) => Some(path.clone()),
            (JournalKind::Sqlite, None) => Some(self.data.as_deref()?.join(FILE_NAME)),
        }
    }

    /// Opens the journal. Blocks for as long as that takes; what is opened has to be used within a Tokio
    /// runtime.
    ///
    /// Where nobody said where conversations are kept and they cannot be kept, they are in memory, and it
    /// says why.
    ///
    /// # Errors
    ///
    /// [`JournalOpenError`] if a file was named and cannot be opened.
    pub fn open_journal(&self) -> Result<OpenJournal, JournalOpenError> {
        self.open(Err)
    }

    /// The same for who only reads: a file that cannot be written is opened to be read.
    ///
    /// # Errors
    ///
    /// [`JournalOpenError`] if a file was named and cannot be opened.
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
            return Ok(OpenJournal::unkept(vec![NO_FOLDER.to_owned()]));
        };
        let mut options = Options::default();
        options.most_bytes = self.journal.max_size;
        let opened = SqliteJournal::open(path, options).map(OpenJournal::of_file);
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

    /// What there is instead of the default file. One that is there and is not ours to use is no reason to
    /// keep nothing in silence.
    fn without(source: OpenError) -> Result<OpenJournal, JournalOpenError> {
        match source {
            OpenError::Io { .. }
            | OpenError::NotAFile { .. }
            | OpenError::NotRead { .. }
            | OpenError::ReadOnly { .. }
            | OpenError::Store { .. } => Ok(OpenJournal::unkept(chain(&source))),
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
    /// A journal that lasts as long as the process.
    #[must_use]
    pub fn in_memory() -> Self {
        Self {
            file: None,
            journal: Arc::new(MemoryJournal::default()),
            read_only: None,
            unkept: None,
        }
    }

    /// The same, for sessions that are gone a moment later and that nobody lists or searches.
    #[must_use]
    pub fn in_passing() -> Self {
        Self {
            journal: Arc::new(MemoryJournal::new().passing()),
            ..Self::in_memory()
        }
    }

    fn unkept(causes: Vec<String>) -> Self {
        let help = HELP;
        Self {
            unkept: Some(NoJournalReason { causes, help }),
            ..Self::in_memory()
        }
    }

    fn of_file(journal: SqliteJournal) -> Self {
        let file = Arc::new(journal);
        let journal: Arc<dyn Journal> = Arc::<SqliteJournal>::clone(&file);
        Self {
            file: Some(file),
            journal,
            read_only: None,
            unkept: None,
        }
    }

    fn read_only(file: Arc<ReadOnlyJournal>, causes: Vec<String>) -> Self {
        Self {
            file: None,
            journal: Arc::<ReadOnlyJournal>::clone(&file),
            read_only: Some(ReadOnly { causes, file }),
            unkept: None,
        }
    }

    /// Writes what was asked for until now, and lets go of every session. Afterwards everything else fails.
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
            .field("unkept", &self.unkept)
            .finish_non_exhaustive()
    }
}

/// An error and its sources.
fn chain(error: &(dyn std::error::Error + 'static)) -> Vec<String> {
    let chain = std::iter::successors(Some(error), |error| (*error).source());
    chain.map(ToString::to_string).collect()
}

/// How the file is called that conversations are kept in.
const FILE_NAME: &str = "jackfield.db";

/// Why there is no file.
const NO_FOLDER: &str = "the user has no folder for data";

/// What to do about a file that cannot be written.
const WRITABLE: &str = "give yourself the right to write to the file and to its folder, or copy both it and what \
                        stands beside it to a folder that can be written, and name the copy with `--db FILE`";

/// What to do where nothing is kept.
const HELP: &str = "name a file that can be written with `--db FILE` or JACKFIELD_DB, or say \
                    `kind = \"memory\"` under [journal]";
