//! The journal of conversations: a file of the user, memory for the life of the process, or a kind that the program
//! registered.

mod open;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jackfield_engine::Retention;
use jackfield_ports::journal::Journal;
use jackfield_store_memory::MemoryJournal;
use jackfield_store_sqlite::ReadOnlyJournal;
use serde_json::Value;

pub use self::open::JournalOpenError;
use crate::config::Config;
use crate::place::ValueSource;

/// The journal's configuration.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct JournalConfig {
    /// The total size of conversations in bytes before the oldest are deleted; `None` for no limit.
    pub keep_bytes: Option<u64>,
    /// How many days an unused conversation is kept; `None` for ever.
    pub keep_days: Option<u32>,
    /// The kind of journal.
    pub kind: JournalKind,
    /// Where the kind is configured; `None` for the default.
    pub kind_place: Option<ValueSource>,
    /// The maximum size of the file in bytes; `None` for no limit.
    pub max_size: Option<u64>,
    /// The options of a kind that is not built in.
    pub options: BTreeMap<Arc<str>, (Value, ValueSource)>,
    /// The configured file, and where it is configured; by default, a file in the user's data folder.
    pub path: Option<(PathBuf, ValueSource)>,
}

/// The kind of journal.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum JournalKind {
    /// Memory: conversations end with the process.
    Memory,
    /// A kind that the program registered with [`Registry::journal`](crate::Registry::journal).
    Other(Arc<str>),
    /// A SQLite file.
    #[default]
    Sqlite,
}

impl JournalKind {
    /// The kind of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Self {
        match name {
            MEMORY => Self::Memory,
            SQLITE => Self::Sqlite,
            other => Self::Other(other.into()),
        }
    }

    /// Its name in the configuration.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Memory => MEMORY,
            Self::Other(name) => name,
            Self::Sqlite => SQLITE,
        }
    }
}

/// An open journal.
#[derive(Clone)]
#[non_exhaustive]
pub struct OpenJournal {
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
        (self.kind, self.kind_place) = (JournalKind::Sqlite, None);
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
    /// The file of a SQLite journal; `None` for other kinds, or if the user has no data folder.
    #[must_use]
    pub fn journal_file(&self) -> Option<PathBuf> {
        match (&self.journal.kind, &self.journal.path) {
            (JournalKind::Memory | JournalKind::Other(_), _) => None,
            (JournalKind::Sqlite, Some((path, _))) => Some(path.clone()),
            (JournalKind::Sqlite, None) => Some(self.data.as_deref()?.join(FILE_NAME)),
        }
    }
}

impl OpenJournal {
    /// A journal in memory, for the life of the process.
    #[must_use]
    pub fn in_memory() -> Self {
        Self::opened(Arc::new(MemoryJournal::default()))
    }

    /// A journal in memory for short-lived sessions, without listing and search.
    #[must_use]
    pub fn ephemeral() -> Self {
        Self::opened(Arc::new(MemoryJournal::new().ephemeral()))
    }

    fn not_persisted(causes: Vec<String>) -> Self {
        let help = HELP;
        Self {
            not_persisted: Some(NoJournalReason { causes, help }),
            ..Self::in_memory()
        }
    }

    fn opened(journal: Arc<dyn Journal>) -> Self {
        Self {
            journal,
            read_only: None,
            not_persisted: None,
        }
    }

    fn read_only(journal: ReadOnlyJournal, causes: Vec<String>) -> Self {
        Self {
            read_only: Some(ReadOnly { causes }),
            ..Self::opened(Arc::new(journal))
        }
    }

    /// Writes what was requested so far, and releases every session. Afterwards everything else fails.
    pub async fn close(&self) {
        self.journal.close().await;
    }
}

impl std::fmt::Debug for OpenJournal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenJournal")
            .field("read_only", &self.read_only)
            .field("unkept", &self.not_persisted)
            .finish_non_exhaustive()
    }
}

/// The name of the default file.
const FILE_NAME: &str = "jackfield.db";

/// The names of the built-in kinds.
const MEMORY: &str = "memory";
const SQLITE: &str = "sqlite";

/// Help if conversations are not stored.
const HELP: &str = "name a file that can be written with `--db FILE` or JACKFIELD_DB, or say \
                    `kind = \"memory\"` under [journal]";
