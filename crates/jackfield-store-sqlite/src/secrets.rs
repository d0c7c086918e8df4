//! The rows of encrypted secrets.

use std::collections::BTreeMap;
use std::sync::Arc;

use jackfield_ports::journal::secrets::{SealedSecret, SecretPlace};
use rusqlite::{Connection, Row, params};

/// Replaces all secrets of an entry, in the transaction of a change of it.
pub(crate) fn replace(
    connection: &Connection,
    (kind, entry): (&str, &str),
    secrets: &[SealedSecret],
) -> rusqlite::Result<()> {
    connection
        .prepare_cached("DELETE FROM sealed_secrets WHERE kind = ?1 AND entry = ?2")?
        .execute([kind, entry])?;
    for secret in secrets {
        let values = params![kind, entry, secret.name, secret.master_key, secret.sealed];
        connection
            .prepare_cached(
                "INSERT INTO sealed_secrets (kind, entry, name, master_key, sealed)
                 VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(values)?;
    }
    Ok(())
}

pub(crate) fn of(
    connection: &Connection,
    kind: &str,
    entry: &str,
) -> rusqlite::Result<Vec<SealedSecret>> {
    let mut select = connection.prepare_cached(
        "SELECT kind, entry, name, master_key, sealed FROM sealed_secrets
         WHERE kind = ?1 AND entry = ?2 ORDER BY name",
    )?;
    let rows = select.query_map([kind, entry], from_row)?;
    rows.map(|row| Ok(row?.1)).collect()
}

pub(crate) fn page(
    connection: &Connection,
    after: Option<&SecretPlace>,
    limit: usize,
) -> rusqlite::Result<Vec<(SecretPlace, SealedSecret)>> {
    let after = after.map_or(["", "", ""], |place| {
        [&place.kind, &place.entry, &place.name]
    });
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut select = connection.prepare_cached(
        "SELECT kind, entry, name, master_key, sealed FROM sealed_secrets
         WHERE (kind, entry, name) > (?1, ?2, ?3) ORDER BY kind, entry, name LIMIT ?4",
    )?;
    let values = params![after[0], after[1], after[2], limit];
    select.query_map(values, from_row)?.collect()
}

/// Replaces a secret, if it is the one that was seen.
pub(crate) fn reseal(
    connection: &Connection,
    place: &SecretPlace,
    seen: &SealedSecret,
    anew: &SealedSecret,
) -> rusqlite::Result<bool> {
    let changed = connection
        .prepare_cached(
            "UPDATE sealed_secrets SET master_key = ?1, sealed = ?2
             WHERE kind = ?3 AND entry = ?4 AND name = ?5 AND master_key = ?6 AND sealed = ?7",
        )?
        .execute(params![
            anew.master_key,
            anew.sealed,
            place.kind,
            place.entry,
            place.name,
            seen.master_key,
            seen.sealed
        ])?;
    Ok(changed > 0)
}

/// The number of secrets under each master key.
pub(crate) fn master_keys(connection: &Connection) -> rusqlite::Result<BTreeMap<Arc<str>, u64>> {
    let mut select = connection
        .prepare_cached("SELECT master_key, count(*) FROM sealed_secrets GROUP BY master_key")?;
    let rows = select.query_map((), |row| {
        let count: i64 = row.get(1)?;
        Ok((row.get(0)?, u64::try_from(count).unwrap_or_default()))
    })?;
    rows.collect()
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<(SecretPlace, SealedSecret)> {
    let name: Arc<str> = row.get(2)?;
    let place = SecretPlace {
        kind: row.get(0)?,
        entry: row.get(1)?,
        name: Arc::clone(&name),
    };
    let secret = SealedSecret {
        master_key: row.get(3)?,
        name,
        sealed: row.get(4)?,
    };
    Ok((place, secret))
}
