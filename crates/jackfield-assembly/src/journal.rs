//! The configuration of the journal: a file of the user, memory for the life of the process, or a kind that the
//! program registered.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jackfield_engine::Retention;
use serde_json::Value;

use crate::database::DatabaseConfig;
use crate::place::ValueSource;

/// The journal's configuration.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct JournalConfig {
    /// The database, for a PostgreSQL journal.
    pub database: DatabaseConfig,
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
    /// A PostgreSQL database.
    Postgres,
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
            POSTGRES => Self::Postgres,
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
            Self::Postgres => POSTGRES,
            Self::Sqlite => SQLITE,
        }
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

    /// The file of a SQLite journal, with this folder for data; `None` for other kinds, or without a folder.
    pub(crate) fn file(&self, data: Option<&Path>) -> Option<PathBuf> {
        match (&self.kind, &self.path) {
            (JournalKind::Memory | JournalKind::Other(_) | JournalKind::Postgres, _) => None,
            (JournalKind::Sqlite, Some((path, _))) => Some(path.clone()),
            (JournalKind::Sqlite, None) => Some(data?.join(FILE_NAME)),
        }
    }

    /// Sets the file, and selects the SQLite journal.
    pub(crate) fn set_path(&mut self, path: PathBuf, place: ValueSource) {
        (self.kind, self.kind_place) = (JournalKind::Sqlite, None);
        self.path = Some((path, place));
    }

    /// Sets the address of a database, and selects the PostgreSQL journal.
    pub(crate) fn set_url(&mut self, url: &str, place: ValueSource) {
        (self.kind, self.kind_place) = (JournalKind::Postgres, Some(place));
        self.database.set_url(url);
    }

    /// Names the variable with the address of a database, and selects the PostgreSQL journal.
    pub(crate) fn set_url_variable(&mut self, name: &str, place: ValueSource) {
        (self.kind, self.kind_place) = (JournalKind::Postgres, Some(place));
        (self.database.url, self.database.url_env) = (None, Some(name.into()));
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

/// The name of the default file.
const FILE_NAME: &str = "jackfield.db";

/// The names of the built-in kinds.
pub(crate) const MEMORY: &str = "memory";
pub(crate) const POSTGRES: &str = "postgres";
pub(crate) const SQLITE: &str = "sqlite";
