//! The rows of the directory: the changes to users, teams and keys.

use jackfield_domain::digest::Digest;
use jackfield_domain::directory::{DirectoryChange, DirectoryEntry, EntryKind, EntryName};
use jackfield_ports::journal::JournalError;
use jackfield_ports::journal::directory::{ChangeQuery, Changed, EntryQuery};
use jackfield_ports::journal::secrets::SealedSecret;
use jackfield_record::{DecodeError, EncodeError, VOCABULARY};
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use thiserror::Error;

use crate::secrets;

/// A change to store, encoded by its requester.
pub(crate) struct ChangeJob {
    digests: Vec<Digest>,
    kind: EntryKind,
    name: EntryName,
    record: Vec<u8>,
    revision: i64,
    /// The secrets that its entry has from then on, if the change is about them.
    sealed: Option<Vec<SealedSecret>>,
}

impl ChangeJob {
    pub(crate) fn from_change(change: &DirectoryChange) -> Result<Self, EncodeError> {
        let digests = match &change.entry {
            DirectoryEntry::Key(key) => {
                let secrets = key.secrets.iter();
                secrets.map(|secret| secret.digest).collect()
            }
            DirectoryEntry::ProviderKey(_)
            | DirectoryEntry::Server(_)
            | DirectoryEntry::SignIn(_)
            | DirectoryEntry::Team(_)
            | DirectoryEntry::User(_) => Vec::new(),
        };
        Ok(Self {
            digests,
            kind: change.entry.kind(),
            name: change.entry.name(),
            record: jackfield_record::encode_directory_change(change)?,
            revision: i64::try_from(change.revision).unwrap_or(i64::MAX),
            sealed: None,
        })
    }

    /// The same change, with all secrets that its entry has from then on.
    pub(crate) fn with_secrets(mut self, secrets: &[SealedSecret]) -> Self {
        self.sealed = Some(secrets.to_vec());
        self
    }

    /// Stores the change, if it is the next one of its entry.
    pub(crate) fn store(&self, connection: &Connection) -> rusqlite::Result<Changed> {
        let (kind, name) = (self.kind.as_str(), self.name.as_str());
        let stored: Option<Vec<u8>> = connection
            .prepare_cached(
                "SELECT record FROM directory WHERE kind = ?1 AND name = ?2 AND revision = ?3",
            )?
            .query_row(params![kind, name, self.revision], |row| row.get(0))
            .optional()?;
        if let Some(stored) = stored {
            return Ok(if stored == self.record {
                Changed::Stored
            } else {
                Changed::Conflict
            });
        }
        let newest: i64 = connection
            .prepare_cached(
                "SELECT coalesce(max(revision), 0) FROM directory WHERE kind = ?1 AND name = ?2",
            )?
            .query_row(params![kind, name], |row| row.get(0))?;
        if newest + 1 != self.revision {
            return Ok(Changed::Conflict);
        }
        if self.kind == EntryKind::Key {
            for digest in &self.digests {
                let is_taken = connection
                    .prepare_cached("SELECT 1 FROM key_secrets WHERE digest = ?1 AND key <> ?2")?
                    .exists(params![digest.as_bytes(), name])?;
                if is_taken {
                    return Ok(Changed::Conflict);
                }
            }
            connection
                .prepare_cached("DELETE FROM key_secrets WHERE key = ?1")?
                .execute([name])?;
            for digest in &self.digests {
                connection
                    .prepare_cached(
                        "INSERT INTO key_secrets (digest, key) VALUES (?1, ?2)
                         ON CONFLICT DO NOTHING",
                    )?
                    .execute(params![digest.as_bytes(), name])?;
            }
        }
        connection
            .prepare_cached(
                "INSERT INTO directory (kind, name, revision, vocabulary, record)
                 VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![kind, name, self.revision, VOCABULARY, self.record])?;
        if let Some(sealed) = &self.sealed {
            secrets::replace(connection, (kind, name), sealed)?;
        }
        Ok(Changed::Stored)
    }
}

pub(crate) struct ChangeRow {
    pub(crate) number: i64,
    record: Vec<u8>,
    /// The vocabulary of the version that wrote it.
    vocabulary: i64,
}

/// Why a change cannot be read.
#[derive(Debug, Error)]
pub(crate) enum ChangeFault {
    #[error("a newer version wrote it: use that one")]
    Newer,
    #[error(transparent)]
    Record(DecodeError),
}

impl ChangeRow {
    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            number: row.get(0)?,
            vocabulary: row.get(1)?,
            record: row.get(2)?,
        })
    }

    pub(crate) fn read(&self) -> Result<DirectoryChange, ChangeFault> {
        if self.vocabulary > i64::from(VOCABULARY) {
            return Err(ChangeFault::Newer);
        }
        let decoded = jackfield_record::decode_directory_change(&self.record);
        decoded.map_err(|error| {
            if error.is_newer() {
                ChangeFault::Newer
            } else {
                ChangeFault::Record(error)
            }
        })
    }
}

/// The newest change of an entry.
pub(crate) fn entry(
    connection: &Connection,
    kind: EntryKind,
    name: &str,
) -> rusqlite::Result<Option<ChangeRow>> {
    connection
        .prepare_cached(
            "SELECT number, vocabulary, record FROM directory WHERE kind = ?1 AND name = ?2
             ORDER BY revision DESC LIMIT 1",
        )?
        .query_row(params![kind.as_str(), name], ChangeRow::from_row)
        .optional()
}

/// The newest change of the key with this secret.
pub(crate) fn find_key(
    connection: &Connection,
    secret: &Digest,
) -> rusqlite::Result<Option<ChangeRow>> {
    connection
        .prepare_cached(
            "SELECT number, vocabulary, record FROM directory
             WHERE kind = 'key' AND name = (SELECT key FROM key_secrets WHERE digest = ?1)
             ORDER BY revision DESC LIMIT 1",
        )?
        .query_row([secret.as_bytes()], ChangeRow::from_row)
        .optional()
}

/// Whether there is a key.
pub(crate) fn has_keys(connection: &Connection) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT 1 FROM directory WHERE kind = 'key' LIMIT 1")?
        .exists(())
}

/// The newest changes of the entries that a query asks for.
pub(crate) fn entries(
    connection: &Connection,
    query: &EntryQuery,
) -> rusqlite::Result<Vec<ChangeRow>> {
    let after = query.after.as_ref().map_or("", EntryName::as_str);
    let limit = i64::try_from(query.limit).unwrap_or(i64::MAX);
    let mut select = connection.prepare_cached(
        "SELECT number, vocabulary, record FROM directory AS this
         WHERE kind = ?1 AND name > ?2 AND revision =
             (SELECT max(revision) FROM directory WHERE kind = this.kind AND name = this.name)
         ORDER BY name LIMIT ?3",
    )?;
    let rows = select.query_map(
        params![query.kind.as_str(), after, limit],
        ChangeRow::from_row,
    )?;
    rows.collect()
}

/// The changes that a query asks for.
pub(crate) fn changes(
    connection: &Connection,
    query: &ChangeQuery,
) -> rusqlite::Result<Vec<ChangeRow>> {
    let before = query.before.and_then(|before| i64::try_from(before).ok());
    let (kind, name) = query
        .entry
        .as_ref()
        .map(|(kind, name)| (kind.as_str(), name.as_str()))
        .unzip();
    let limit = i64::try_from(query.limit).unwrap_or(i64::MAX);
    let mut select = connection.prepare_cached(
        "SELECT number, vocabulary, record FROM directory
         WHERE number < ?1 AND (?2 IS NULL OR (kind = ?2 AND name = ?3))
         ORDER BY number DESC LIMIT ?4",
    )?;
    let values = params![before.unwrap_or(i64::MAX), kind, name, limit];
    select.query_map(values, ChangeRow::from_row)?.collect()
}

pub(crate) fn numbered_change(row: &ChangeRow) -> Result<(u64, DirectoryChange), JournalError> {
    Ok((
        u64::try_from(row.number).unwrap_or_default(),
        read_change(row)?,
    ))
}

pub(crate) fn read_change(row: &ChangeRow) -> Result<DirectoryChange, JournalError> {
    row.read().map_err(|fault| JournalError::Unreachable {
        source: format!(
            "change {} of the directory cannot be read: {fault}",
            row.number
        )
        .into(),
    })
}
