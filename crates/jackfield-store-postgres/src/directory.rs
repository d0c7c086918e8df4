//! The rows of the directory: the changes to users, teams and keys.

use jackfield_domain::digest::Digest;
use jackfield_domain::directory::{DirectoryChange, DirectoryEntry, EntryKind, EntryName};
use jackfield_ports::journal::directory::{ChangeQuery, Changed, EntryQuery};
use jackfield_ports::journal::secrets::SealedSecret;
use jackfield_record::VOCABULARY;
use tokio_postgres::Row;

use crate::error::Fault;
use crate::pool::{Connection, Transaction, column, count, int, values};
use crate::secrets;

/// Stores a change with its record, if it is the next one of its entry, in a transaction that others wait for.
pub(crate) async fn change(
    connection: &mut Connection,
    change: &DirectoryChange,
    record: &[u8],
    secrets: Option<&[SealedSecret]>,
) -> Result<Changed, Fault> {
    connection
        .begin(Transaction::Synced, LOCK, values![LOCK_NAME => TEXT])
        .await?;
    let stored = store(connection, change, record).await?;
    if let (Stored::Now, Some(secrets)) = (stored, secrets) {
        secrets::replace(connection, change, secrets).await?;
    }
    match stored {
        Stored::Not => connection.roll_back().await?,
        Stored::Before | Stored::Now => connection.commit().await?,
    }
    Ok(match stored {
        Stored::Not => Changed::Conflict,
        Stored::Before | Stored::Now => Changed::Stored,
    })
}

async fn store(
    connection: &mut Connection,
    change: &DirectoryChange,
    record: &[u8],
) -> Result<Stored, Fault> {
    let name = change.entry.name();
    let (kind, name) = (change.entry.kind().as_str(), name.as_str());
    let revision = int(change.revision);
    let values = values![kind => TEXT, name => TEXT, revision => INT8];
    let Some(row) = connection.query_row(STATE, values).await? else {
        return Err(Fault::row("the directory has no state"));
    };
    let (newest, same): (i64, Option<&[u8]>) = (column(&row, 0)?, column(&row, 1)?);
    if let Some(same) = same {
        return Ok(if same == record {
            Stored::Before
        } else {
            Stored::Not
        });
    }
    if newest + 1 != revision {
        return Ok(Stored::Not);
    }
    if let DirectoryEntry::Key(key) = &change.entry {
        let digests = key
            .secrets
            .iter()
            .map(|secret| secret.digest.as_bytes().to_vec());
        let digests: Vec<Vec<u8>> = digests.collect();
        let values = values![digests => BYTEA_ARRAY, name => TEXT];
        if connection.query_row(TAKEN, values).await?.is_some() {
            return Ok(Stored::Not);
        }
        connection.execute(FORGET, values![name => TEXT]).await?;
        let values = values![digests => BYTEA_ARRAY, name => TEXT];
        connection.execute(ADD, values).await?;
    }
    let values = values![
        kind => TEXT, name => TEXT, revision => INT8, i64::from(VOCABULARY) => INT8, record => BYTEA,
    ];
    connection.execute(INSERT, values).await?;
    Ok(Stored::Now)
}

/// Whether a change is stored.
#[derive(Clone, Copy)]
enum Stored {
    Before,
    Not,
    Now,
}

/// The newest change of an entry.
pub(crate) async fn entry(
    connection: &mut Connection,
    kind: EntryKind,
    name: &EntryName,
) -> Result<Option<DirectoryChange>, Fault> {
    let values = values![kind.as_str() => TEXT, name.as_str() => TEXT];
    let row = connection.query_row(ENTRY, values).await?;
    row.as_ref().map(read).transpose()
}

/// The newest change of the key with this secret.
pub(crate) async fn find_key(
    connection: &mut Connection,
    secret: &Digest,
) -> Result<Option<DirectoryChange>, Fault> {
    let values = values![&secret.as_bytes()[..] => BYTEA];
    let row = connection.query_row(FIND_KEY, values).await?;
    row.as_ref().map(read).transpose()
}

/// Whether there is a key.
pub(crate) async fn has_keys(connection: &mut Connection) -> Result<bool, Fault> {
    Ok(connection.query_row(HAS_KEYS, &[]).await?.is_some())
}

/// The newest changes of the entries that a query asks for.
pub(crate) async fn entries(
    connection: &mut Connection,
    query: &EntryQuery,
) -> Result<Vec<DirectoryChange>, Fault> {
    let after = query.after.as_ref().map_or("", EntryName::as_str);
    let limit = i64::try_from(query.limit).unwrap_or(i64::MAX);
    let values = values![query.kind.as_str() => TEXT, after => TEXT, limit => INT8];
    let rows = connection.query(ENTRIES, values).await?;
    rows.iter().map(read).collect()
}

/// The changes that a query asks for, with their numbers.
pub(crate) async fn changes(
    connection: &mut Connection,
    query: &ChangeQuery,
) -> Result<Vec<(u64, DirectoryChange)>, Fault> {
    let before = query.before.map_or(i64::MAX, int);
    let entry = query.entry.as_ref();
    let (kind, name) = entry
        .map(|(kind, name)| (kind.as_str(), name.as_str()))
        .unzip();
    let limit = i64::try_from(query.limit).unwrap_or(i64::MAX);
    let values = values![before => INT8, kind => TEXT, name => TEXT, limit => INT8];
    let rows = connection.query(CHANGES, values).await?;
    let changes = rows.iter().map(|row| Ok((count(row, 0)?, read(row)?)));
    changes.collect()
}

fn read(row: &Row) -> Result<DirectoryChange, Fault> {
    let (number, vocabulary): (i64, i64) = (column(row, 0)?, column(row, 1)?);
    let record: &[u8] = column(row, 2)?;
    if vocabulary > i64::from(VOCABULARY) {
        return Err(Fault::row(format!(
            "a newer version wrote change {number} of the directory: use that one"
        )));
    }
    let decoded = jackfield_record::decode_directory_change(record);
    decoded.map_err(|error| Fault::row(format!("change {number} of the directory: {error}")))
}

const LOCK_NAME: &str = "jackfield directory";
const LOCK: &str = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))";
const STATE: &str = "SELECT coalesce(max(revision), 0), \
     (SELECT record FROM jackfield.directory WHERE kind = $1 AND name = $2 AND revision = $3) \
     FROM jackfield.directory WHERE kind = $1 AND name = $2";
const TAKEN: &str =
    "SELECT 1 FROM jackfield.key_secrets WHERE digest = ANY($1) AND key <> $2 LIMIT 1";
const FORGET: &str = "DELETE FROM jackfield.key_secrets WHERE key = $1";
const ADD: &str = "INSERT INTO jackfield.key_secrets (digest, key) SELECT unnest($1), $2 \
     ON CONFLICT DO NOTHING";
const INSERT: &str = "INSERT INTO jackfield.directory (kind, name, revision, vocabulary, record) \
     VALUES ($1, $2, $3, $4, $5)";
const ENTRY: &str = "SELECT number, vocabulary, record FROM jackfield.directory \
     WHERE kind = $1 AND name = $2 ORDER BY revision DESC LIMIT 1";
const FIND_KEY: &str = "SELECT number, vocabulary, record FROM jackfield.directory \
     WHERE kind = 'key' AND name = (SELECT key FROM jackfield.key_secrets WHERE digest = $1) \
     ORDER BY revision DESC LIMIT 1";
const HAS_KEYS: &str = "SELECT 1 FROM jackfield.directory WHERE kind = 'key' LIMIT 1";
const ENTRIES: &str = "SELECT number, vocabulary, record FROM jackfield.directory AS this \
     WHERE kind = $1 AND name > $2 AND revision = (SELECT max(revision) FROM jackfield.directory \
         WHERE kind = this.kind AND name = this.name) \
     ORDER BY name LIMIT $3";
const CHANGES: &str = "SELECT number, vocabulary, record FROM jackfield.directory \
     WHERE number < $1 AND ($2::text IS NULL OR (kind = $2 AND name = $3)) \
     ORDER BY number DESC LIMIT $4";
