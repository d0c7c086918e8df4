//! The rows of encrypted secrets.

use std::collections::BTreeMap;
use std::sync::Arc;

use jackfield_domain::directory::{DirectoryChange, EntryKind, EntryName};
use jackfield_ports::journal::secrets::{SealedSecret, SecretPlace};
use tokio_postgres::Row;

use crate::error::Fault;
use crate::pool::{Connection, column, count, values};

/// Replaces all secrets of an entry, in the transaction of a change of it.
pub(crate) async fn replace(
    connection: &mut Connection,
    change: &DirectoryChange,
    secrets: &[SealedSecret],
) -> Result<(), Fault> {
    let (kind, entry) = (change.entry.kind().as_str(), change.entry.name());
    let entry = entry.as_str();
    connection
        .execute(FORGET, values![kind => TEXT, entry => TEXT])
        .await?;
    for secret in secrets {
        let values = values![
            kind => TEXT, entry => TEXT, &*secret.name => TEXT, &*secret.master_key => TEXT,
            &*secret.sealed => BYTEA,
        ];
        connection.execute(ADD, values).await?;
    }
    Ok(())
}

pub(crate) async fn of(
    connection: &mut Connection,
    kind: EntryKind,
    entry: &EntryName,
) -> Result<Vec<SealedSecret>, Fault> {
    let values = values![kind.as_str() => TEXT, entry.as_str() => TEXT];
    let rows = connection.query(OF, values).await?;
    rows.iter().map(|row| Ok(read(row)?.1)).collect()
}

pub(crate) async fn page(
    connection: &mut Connection,
    after: Option<&SecretPlace>,
    limit: usize,
) -> Result<Vec<(SecretPlace, SealedSecret)>, Fault> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let after = after.map_or(["", "", ""], |place| {
        [&place.kind, &place.entry, &place.name]
    });
    let values = values![
        after[0] => TEXT, after[1] => TEXT, after[2] => TEXT, limit => INT8,
    ];
    let rows = connection.query(PAGE, values).await?;
    rows.iter().map(read).collect()
}

/// Replaces a secret, if it is the one that was seen.
pub(crate) async fn reseal(
    connection: &mut Connection,
    place: &SecretPlace,
    seen: &SealedSecret,
    anew: &SealedSecret,
) -> Result<bool, Fault> {
    let values = values![
        &*anew.master_key => TEXT, &*anew.sealed => BYTEA, &*place.kind => TEXT,
        &*place.entry => TEXT, &*place.name => TEXT, &*seen.master_key => TEXT,
        &*seen.sealed => BYTEA,
    ];
    Ok(connection.query_row(RESEAL, values).await?.is_some())
}

/// The number of secrets under each master key.
pub(crate) async fn master_keys(
    connection: &mut Connection,
) -> Result<BTreeMap<Arc<str>, u64>, Fault> {
    let rows = connection.query(MASTER_KEYS, &[]).await?;
    let keys = rows.iter().map(|row| {
        let id: &str = column(row, 0)?;
        Ok((id.into(), count(row, 1)?))
    });
    keys.collect()
}

fn read(row: &Row) -> Result<(SecretPlace, SealedSecret), Fault> {
    let (kind, entry): (&str, &str) = (column(row, 0)?, column(row, 1)?);
    let (name, master_key): (&str, &str) = (column(row, 2)?, column(row, 3)?);
    let sealed: &[u8] = column(row, 4)?;
    let place = SecretPlace {
        kind: kind.into(),
        entry: entry.into(),
        name: name.into(),
    };
    let secret = SealedSecret {
        master_key: master_key.into(),
        name: name.into(),
        sealed: sealed.into(),
    };
    Ok((place, secret))
}

const FORGET: &str = "DELETE FROM jackfield.sealed_secrets WHERE kind = $1 AND entry = $2";
const ADD: &str = "INSERT INTO jackfield.sealed_secrets (kind, entry, name, master_key, sealed) \
     VALUES ($1, $2, $3, $4, $5)";
const OF: &str = "SELECT kind, entry, name, master_key, sealed FROM jackfield.sealed_secrets \
     WHERE kind = $1 AND entry = $2 ORDER BY name";
const PAGE: &str = "SELECT kind, entry, name, master_key, sealed FROM jackfield.sealed_secrets \
     WHERE (kind, entry, name) > ($1, $2, $3) ORDER BY kind, entry, name LIMIT $4";
const RESEAL: &str = "UPDATE jackfield.sealed_secrets SET master_key = $1, sealed = $2 \
     WHERE kind = $3 AND entry = $4 AND name = $5 AND master_key = $6 AND sealed = $7 RETURNING 1";
const MASTER_KEYS: &str =
    "SELECT master_key, count(*) FROM jackfield.sealed_secrets GROUP BY master_key";
