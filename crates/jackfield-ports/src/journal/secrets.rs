//! The secrets of entries of the directory, encrypted.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use jackfield_domain::directory::{DirectoryChange, EntryKind, EntryName};

use super::JournalError;
use super::directory::Changed;

/// Stores secrets beside the directory, as they were encrypted: a store never sees one in plain text.
///
/// # Contract
///
/// - `change_with_secrets` MUST store a change as [`Directory::change`](super::directory::Directory::change) does, and
///   in the same transaction replace all secrets of the entry by those that are given: both or neither. A secret that
///   is replaced or gone MUST NOT be found any more. A repeated change leaves the secrets as they are.
/// - `secrets_of` MUST return the secrets of that entry and of no other, equal, ordered by the bytes of their names.
/// - `page` MUST return every secret once, page by page, ordered by kind, entry and name.
/// - `reseal` MUST replace the sealed form of a secret only if it is the one that the caller has seen.
/// - `master_keys` MUST count the secrets by their master keys.
/// - What was stored MUST be as durable as a committed append, and visible in every process at once.
#[async_trait]
pub trait Secrets: Send + Sync {
    /// Stores a change of an entry with all secrets that the entry has from then on.
    ///
    /// # Errors
    ///
    /// [`JournalError::Unreachable`] if the journal cannot be reached or written. Both may be stored then, and the caller
    /// may repeat it.
    async fn change_with_secrets(
        &self,
        change: &DirectoryChange,
        secrets: &[SealedSecret],
    ) -> Result<Changed, JournalError>;

    /// The secrets of an entry.
    ///
    /// # Errors
    ///
    /// [`JournalError::Unreachable`] if the journal cannot be read.
    async fn secrets_of(
        &self,
        kind: EntryKind,
        entry: &EntryName,
    ) -> Result<Vec<SealedSecret>, JournalError>;

    /// At most `limit` secrets of all entries, after this place.
    ///
    /// # Errors
    ///
    /// [`JournalError::Unreachable`] if the journal cannot be read.
    async fn page(
        &self,
        after: Option<&SecretPlace>,
        limit: usize,
    ) -> Result<Vec<(SecretPlace, SealedSecret)>, JournalError>;

    /// Replaces the sealed form of a secret. Returns whether it was the one that was seen.
    ///
    /// # Errors
    ///
    /// [`JournalError::Unreachable`] if the journal cannot be reached or written.
    async fn reseal(
        &self,
        place: &SecretPlace,
        seen: &SealedSecret,
        anew: &SealedSecret,
    ) -> Result<bool, JournalError>;

    /// How many secrets are encrypted under each master key, by the id of the key.
    ///
    /// # Errors
    ///
    /// [`JournalError::Unreachable`] if the journal cannot be read.
    async fn master_keys(&self) -> Result<BTreeMap<Arc<str>, u64>, JournalError>;
}

/// A secret as it is stored: encrypted.
#[derive(Clone, Eq, PartialEq)]
pub struct SealedSecret {
    /// The id of the master key under which it is encrypted.
    pub master_key: Arc<str>,
    /// Its name within the entry.
    pub name: Arc<str>,
    /// The encrypted bytes.
    pub sealed: Arc<[u8]>,
}

impl fmt::Debug for SealedSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SealedSecret")
            .field("master_key", &self.master_key)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// Where a secret belongs.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct SecretPlace {
    /// The kind of the entry, by its [name](EntryKind::as_str).
    pub kind: Arc<str>,
    /// The entry, by the text of its name.
    pub entry: Arc<str>,
    /// The name of the secret within the entry.
    pub name: Arc<str>,
}

impl SecretPlace {
    /// The place of a secret of an entry.
    #[must_use]
    pub fn new(kind: EntryKind, entry: &EntryName, name: &str) -> Self {
        Self {
            kind: kind.as_str().into(),
            entry: entry.as_str().into(),
            name: name.into(),
        }
    }
}
