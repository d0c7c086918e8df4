//! Errors of the file, with messages that tell a person what to do.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jackfield_ports::chat_model::BoxError;
use jackfield_ports::journal::{Outage, OutageError};
use rusqlite::ErrorCode;
use rusqlite::types::Type;
use thiserror::Error;

/// The file cannot be opened as a journal. Nothing in it was changed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Another process has the file open and could not read its new form.
    #[error(
        "{} has to be brought up to date, and another process has it open: end that one first",
        path.display()
    )]
    InUse { path: PathBuf },
    /// The file is damaged from its beginning on, or is not a database.
    #[error("{} is damaged, or is no database", path.display())]
    Damaged {
        path: PathBuf,
        #[source]
        source: BoxError,
    },
    /// The file or its folder cannot be created, opened or locked.
    #[error("{} cannot be opened", path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    /// A newer build wrote the file.
    #[error(
        "{} was made by a newer version (its form is {found}, and this one knows {known}): use that one",
        path.display()
    )]
    Newer {
        /// The form of the file.
        found: i64,
        /// The newest form that this build knows.
        known: i64,
        path: PathBuf,
    },
    /// The path names something other than a file.
    #[error("{} is {kind}: name a file", path.display())]
    NotAFile {
        /// The kind of entry, in words.
        kind: &'static str,
        path: PathBuf,
    },
    /// The file is a database of another program.
    #[error("{} is a database of another program: name another file", path.display())]
    NotOurs { path: PathBuf },
    /// The file cannot be opened for reading without write access.
    #[error("{} cannot be read: {why}", path.display())]
    NotRead {
        path: PathBuf,
        /// Why, in words, and what to do.
        why: Arc<str>,
    },
    /// The file exists, but the file or its folder cannot be written. It may be readable:
    /// [`ReadOnlyJournal`](crate::ReadOnlyJournal).
    #[error("{} can only be read", path.display())]
    ReadOnly {
        path: PathBuf,
        #[source]
        source: BoxError,
    },
    #[error("{} cannot be used", path.display())]
    Store {
        path: PathBuf,
        #[source]
        source: BoxError,
    },
}

impl OpenError {
    pub(crate) fn io(path: &Path, source: std::io::Error) -> Self {
        let is_permission_error = matches!(
            source.kind(),
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem
        );
        if is_permission_error && path.is_file() {
            return Self::read_only(path, source);
        }
        Self::Io {
            path: path.to_owned(),
            source,
        }
    }

    pub(crate) fn store(path: &Path, error: &rusqlite::Error) -> Self {
        let fault = JobError::from_sqlite(error);
        if matches!(fault, JobError::ReadOnly(_)) && path.is_file() {
            return Self::read_only(path, fault);
        }
        let path = path.to_owned();
        if matches!(fault, JobError::Corrupt(_)) {
            let source = fault.into();
            return Self::Damaged { path, source };
        }
        let source = fault.into();
        Self::Store { path, source }
    }

    pub(crate) fn read_only(path: &Path, why: impl Into<BoxError>) -> Self {
        Self::ReadOnly {
            path: path.to_owned(),
            source: why.into(),
        }
    }
}

/// Why a request failed. Shared by all requests of a failed commit.
#[derive(Clone, Debug, Error)]
pub(crate) enum JobError {
    #[error("the journal was closed")]
    Closed,
    #[error("the file is damaged ({0}): restore a copy of it, or export what can still be read")]
    Corrupt(Arc<str>),
    #[error("the disk gave an error ({0}): see whether it is full, or failing")]
    Disk(Arc<str>),
    #[error("{} ({why})", full_message(*.most))]
    Full {
        /// The size limit of the file in bytes, if there is one.
        most: Option<u64>,
        why: Arc<str>,
    },
    #[error(
        "the file was moved, deleted or replaced while it was open: put it back, or begin again with \
         what is there now"
    )]
    Gone,
    #[error(
        "another process has held the file for too long ({0}): wait until it is done, or end it"
    )]
    Locked(Arc<str>),
    #[error("{0}")]
    Other(Arc<str>),
    #[error("the file, or the folder it is in, cannot be written ({0})")]
    ReadOnly(Arc<str>),
    /// The file's structure is sound, but a row has contents that no version writes.
    #[error("a row is damaged or missing ({0}): restore a copy of the file")]
    Row(Arc<str>),
}

impl JobError {
    /// Classifies an error of SQLite.
    pub(crate) fn from_sqlite(error: &rusqlite::Error) -> Self {
        if let rusqlite::Error::FromSqlConversionFailure(_, _, why) = error {
            return Self::Row(why.to_string().into());
        }
        let why: Arc<str> = error.to_string().into();
        if matches!(
            error,
            rusqlite::Error::IntegralValueOutOfRange(..)
                | rusqlite::Error::InvalidColumnType(..)
                | rusqlite::Error::Utf8Error(..)
        ) {
            return Self::Row(why);
        }
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked(why),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Corrupt(why),
            Some(ErrorCode::SystemIoFailure) => Self::Disk(why),
            Some(ErrorCode::DiskFull | ErrorCode::TooBig) => Self::Full { most: None, why },
            Some(
                ErrorCode::ReadOnly
                | ErrorCode::PermissionDenied
                | ErrorCode::CannotOpen
                | ErrorCode::AuthorizationForStatementDenied,
            ) => Self::ReadOnly(why),
            _ => Self::Other(why),
        }
    }

    /// Adds the size limit of the file to an error that it is full.
    pub(crate) fn with_limit(self, limit: Option<u64>) -> Self {
        match self {
            Self::Full { why, .. } => Self::Full { most: limit, why },
            Self::Closed
            | Self::Corrupt(_)
            | Self::Disk(_)
            | Self::Gone
            | Self::Locked(_)
            | Self::Other(_)
            | Self::ReadOnly(_)
            | Self::Row(_) => self,
        }
    }

    /// What is out of order with the file as a whole.
    const fn outage(&self) -> Option<Outage> {
        match self {
            Self::Full { .. } => Some(Outage::DiskFull),
            Self::Locked(_) => Some(Outage::Slow),
            Self::ReadOnly(_) => Some(Outage::ReadOnly),
            Self::Closed
            | Self::Corrupt(_)
            | Self::Disk(_)
            | Self::Gone
            | Self::Other(_)
            | Self::Row(_) => None,
        }
    }

    /// Adds the path of the file.
    pub(crate) fn with_path(self, path: &Path) -> FileFault {
        FileFault {
            fault: self,
            path: path.to_owned(),
        }
    }

    /// Whether the rows that were read or written are damaged; other sessions may be sound.
    pub(crate) const fn is_damage(&self) -> bool {
        matches!(self, Self::Corrupt(_) | Self::Row(_))
    }

    /// Whether a retry would fail in the same way.
    pub(crate) const fn is_permanent(&self) -> bool {
        match self {
            Self::Corrupt(_)
            | Self::Full { .. }
            | Self::Gone
            | Self::ReadOnly(_)
            | Self::Row(_) => true,
            Self::Closed | Self::Disk(_) | Self::Locked(_) | Self::Other(_) => false,
        }
    }
}

/// An error with the path of its file.
#[derive(Debug, Error)]
#[error("{}: {fault}", path.display())]
pub(crate) struct FileFault {
    fault: JobError,
    path: PathBuf,
}

impl FileFault {
    /// The error as the source of another one.
    pub(crate) fn into_source(self) -> BoxError {
        let why = self.to_string();
        match self.fault.outage() {
            Some(outage) => OutageError { outage, why }.into(),
            None => self.into(),
        }
    }
}

/// The error for a column with contents that no version writes.
pub(crate) fn damaged(
    column: usize,
    kind: Type,
    why: impl std::error::Error + Send + Sync + 'static,
) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, kind, Box::new(why))
}

fn full_message(most: Option<u64>) -> String {
    match most {
        Some(most) => format!(
            "the file has reached the {most} bytes that it may have, or the disk is full: delete old \
             sessions to make room in it, or raise the limit"
        ),
        None => "the disk is full: make room".to_owned(),
    }
}
