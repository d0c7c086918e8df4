//! The directory of a journal: the users, teams and keys of a gateway's clients.

use async_trait::async_trait;
use jackfield_domain::digest::Digest;
use jackfield_domain::directory::{DirectoryChange, EntryKind, EntryName};

use super::JournalError;

/// Stores the changes to users, teams and keys beside the sessions. The value of an entry is that of its newest change.
///
/// # Contract
///
/// - `change` MUST be atomic, and MUST be stored only if its revision is the next one of its entry, counted from 1, and
///   if no other key has a secret of the same digest; otherwise it MUST return [`Changed::Conflict`] and store nothing.
///   A change that is stored already, equal in all, MUST be [`Changed::Stored`] again. What `change` returned
///   [`Changed::Stored`] for MUST be as durable as a committed append.
/// - `entry`, `entries`, `find_key`, `has_keys` and `changes` MUST see every change from the moment that `change`
///   returned, in every process, equal, through the stored form.
/// - `find_key` MUST find a key by the secrets of its newest change and by no others.
/// - A change that cannot be read, because a newer version wrote it or it is damaged, MUST be an error of every request
///   that needs it: it is never treated as missing.
#[async_trait]
pub trait Directory: Send + Sync {
    /// Stores a change.
    ///
    /// # Errors
    ///
    /// [`JournalError::Unreachable`] if the journal cannot be reached or written. The change may be stored then, and
    /// the caller may repeat it.
    async fn change(&self, change: &DirectoryChange) -> Result<Changed, JournalError>;

    /// The newest change of an entry; `None` if there is no such entry.
    ///
    /// # Errors
    ///
    /// [`JournalError::Unreachable`] if the journal cannot be read.
    async fn entry(
        &self,
        kind: EntryKind,
        name: &EntryName,
    ) -> Result<Option<DirectoryChange>, JournalError>;

    /// The newest changes of the entries of a kind, ordered by the bytes of their names.
    ///
    /// # Errors
    ///
    /// [`JournalError::Unreachable`] if the journal cannot be read.
    async fn entries(&self, query: &EntryQuery) -> Result<Vec<DirectoryChange>, JournalError>;

    /// The newest change of the key with a secret of this digest.
    ///
    /// # Errors
    ///
    /// [`JournalError::Unreachable`] if the journal cannot be read.
    async fn find_key(&self, secret: &Digest) -> Result<Option<DirectoryChange>, JournalError>;

    /// Whether there is a key, accepted or not.
    ///
    /// # Errors
    ///
    /// [`JournalError::Unreachable`] if the journal cannot be read.
    async fn has_keys(&self) -> Result<bool, JournalError>;

    /// The changes, the newest first, each with its number, which grows with every change.
    ///
    /// # Errors
    ///
    /// [`JournalError::Unreachable`] if the journal cannot be read.
    async fn changes(
        &self,
        query: &ChangeQuery,
    ) -> Result<Vec<(u64, DirectoryChange)>, JournalError>;
}

/// The result of a change.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Changed {
    /// The entry has another revision by now, or another key has the secret. Nothing was stored.
    Conflict,
    /// It is stored.
    Stored,
}

/// A query for entries.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct EntryQuery {
    /// Only entries after this name, for paging.
    pub after: Option<EntryName>,
    /// The kind.
    pub kind: EntryKind,
    /// The maximum number of entries.
    pub limit: usize,
}

/// A query for changes.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ChangeQuery {
    /// Only changes with a smaller number, for paging.
    pub before: Option<u64>,
    /// Only changes of this entry.
    pub entry: Option<(EntryKind, EntryName)>,
    /// The maximum number of changes.
    pub limit: usize,
}
