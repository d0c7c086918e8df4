//! Errors of requests to the directory.

use jackfield_domain::directory::{
    EntryKind, EntryName, InvalidEntryName, InvalidOwnServer, KeyRefusal, ServerOwner,
};
use jackfield_ports::journal::JournalError;
use thiserror::Error;

use crate::master_keys::SecretError;
use crate::sign_in_store::SignInError;

/// A request to the directory failed. Nothing was changed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DirectoryError {
    /// Others change the entry all the time: try again.
    #[error("the {} `{name}` is being changed by others: try again", kind.as_str())]
    Busy {
        /// The kind of entry.
        kind: EntryKind,
        /// Its name.
        name: EntryName,
    },
    /// It is no server that a user or a team can have.
    #[error(transparent)]
    InvalidServer(#[from] InvalidOwnServer),
    /// There is an entry of this name.
    #[error("there is a {} `{name}` already", kind.as_str())]
    Exists {
        /// The kind of entry.
        kind: EntryKind,
        /// Its name.
        name: EntryName,
    },
    /// The journal cannot be read or written. It is unknown then whether a change was stored.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// There is no such entry.
    #[error("{}", missing(*kind, name))]
    Missing {
        /// The kind of entry.
        kind: EntryKind,
        /// Its name.
        name: EntryName,
    },
    /// No sign-in of the user waits for this answer.
    #[error("no sign-in of yours waits for this answer: begin the sign-in again")]
    NoLogin,
    /// The text is no key of a provider.
    #[error("this is no key: one has visible characters without spaces, at most 4096")]
    NoKey,
    /// It is no name.
    #[error(transparent)]
    Name(#[from] InvalidEntryName),
    /// A server or its authorization server does not let a user sign in.
    #[error("{0}")]
    SignInFailed(String),
    /// The configuration allows no such server.
    #[error("{0}")]
    ServerRefused(String),
    /// The owner has used as many names of servers as it may use.
    #[error(
        "{owner} has used {max} names of servers, and may use no more: set a server again under one of them"
    )]
    TooManyServerNames {
        /// The maximum.
        max: usize,
        /// The owner.
        owner: ServerOwner,
    },
    /// The owner has as many servers as it may have.
    #[error("{owner} has {max} servers, and may have no more")]
    TooManyServers {
        /// The maximum.
        max: usize,
        /// The owner.
        owner: ServerOwner,
    },
    /// The key is not accepted.
    #[error(transparent)]
    Refused(#[from] KeyRefusal),
    /// The tokens of a sign-in cannot be read or stored.
    #[error("the sign-in cannot be used")]
    SignIn(#[source] SignInError),
    /// A secret cannot be encrypted or opened.
    #[error(transparent)]
    Secret(#[from] SecretError),
}

impl From<SignInError> for DirectoryError {
    fn from(error: SignInError) -> Self {
        match error {
            SignInError::Secret(error) => error.into(),
            error @ (SignInError::Busy | SignInError::Gone) => Self::SignIn(error),
        }
    }
}

/// That there is no entry of this name.
fn missing(kind: EntryKind, name: &EntryName) -> String {
    if let (EntryKind::ProviderKey, Some((user, provider))) = (kind, name.of_whom()) {
        return format!("`{user}` has no key of their own at `{provider}`");
    }
    format!("there is no {} `{name}`", kind.as_str())
}
