//! Errors that concern one session.

use jackfield_domain::ids::SessionId;
use jackfield_ports::journal::JournalError;
use jackfield_record::DecodeError;

use crate::commit::NotOwned;

pub(super) fn unknown(session: &SessionId) -> JournalError {
    JournalError::UnknownSession {
        session: session.clone(),
    }
}

pub(super) fn unreadable(session: &SessionId, error: DecodeError) -> JournalError {
    let (session, newer) = (session.clone(), error.is_newer());
    let source = error.into();
    if newer {
        JournalError::Newer { session, source }
    } else {
        JournalError::Corrupt { session, source }
    }
}

pub(super) fn not_owned(session: &SessionId, why: NotOwned) -> JournalError {
    match why {
        NotOwned::Held => JournalError::Held {
            session: session.clone(),
        },
        NotOwned::Owned | NotOwned::Ourselves => JournalError::Owned {
            session: session.clone(),
        },
        NotOwned::Unknown => unknown(session),
        NotOwned::Unreadable(error) => unreadable(session, error),
    }
}
