//! The errors of the journal.

use jackfield_domain::ids::SessionId;
use jackfield_ports::journal::JournalError;
use jackfield_record::DecodeError;

use super::SqliteJournal;
use crate::commit::NotOwned;
use crate::error::{FileFault, JobError};

impl SqliteJournal {
    /// Adds the path of the file to an error.
    pub(super) fn unreachable(&self, fault: JobError) -> JournalError {
        JournalError::Unreachable {
            source: fault.with_path(&self.path).into_source(),
        }
    }

    /// The error of a request for one session, which may be damaged while the others are sound.
    pub(super) fn session_error(&self, session: &SessionId, fault: JobError) -> JournalError {
        if fault.is_damage() {
            return damaged(session, fault.with_path(&self.path));
        }
        self.unreachable(fault)
    }
}

/// The session's rows or records are damaged.
pub(crate) fn damaged(session: &SessionId, fault: FileFault) -> JournalError {
    JournalError::Corrupt {
        session: session.clone(),
        source: fault.into(),
    }
}

pub(crate) fn unknown(session: &SessionId) -> JournalError {
    JournalError::UnknownSession {
        session: session.clone(),
    }
}

pub(crate) fn unreadable(session: &SessionId, error: DecodeError) -> JournalError {
    let (session, newer) = (session.clone(), error.is_newer());
    let source = error.into();
    if newer {
        JournalError::Newer { session, source }
    } else {
        JournalError::Corrupt { session, source }
    }
}

pub(crate) fn not_owned(session: &SessionId, why: NotOwned) -> JournalError {
    match why {
        NotOwned::Held => JournalError::Held {
            session: session.clone(),
        },
        NotOwned::Owned => JournalError::Owned {
            session: session.clone(),
        },
        NotOwned::Unknown => unknown(session),
        NotOwned::Unreadable(error) => unreadable(session, error),
    }
}
