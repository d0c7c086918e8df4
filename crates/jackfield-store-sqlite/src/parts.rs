//! Large texts that were cut out of steps, each stored once for all sessions that need it.

use jackfield_domain::digest::Digest;
use jackfield_domain::fact::Envelope;
use jackfield_record::{DecodeError, Part};
use rusqlite::{Connection, params};

/// Decodes a step's record and inserts its parts.
pub(crate) fn read_step(
    connection: &Connection,
    session: i64,
    record: &[u8],
) -> rusqlite::Result<Result<Envelope, DecodeError>> {
    let whole = join_record(connection, session, record)?;
    Ok(whole.and_then(|whole| jackfield_record::decode_envelope(&whole)))
}

/// A step, and the number of bytes of its record including its parts.
pub(crate) fn read_step_and_length(
    connection: &Connection,
    session: i64,
    record: &[u8],
) -> rusqlite::Result<Result<(Envelope, usize), DecodeError>> {
    let whole = join_record(connection, session, record)?;
    Ok(whole.and_then(|whole| Ok((jackfield_record::decode_envelope(&whole)?, whole.len()))))
}

/// Stores the parts of a session's steps.
pub(crate) fn insert(
    connection: &Connection,
    session: i64,
    parts: &[Part],
) -> rusqlite::Result<()> {
    if parts.is_empty() {
        return Ok(());
    }
    let mut insert = connection.prepare_cached(
        "INSERT INTO texts_apart (digest, text) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
    )?;
    let mut name = connection.prepare_cached(
        "INSERT INTO parts (session, part) SELECT ?1, number FROM texts_apart WHERE digest = ?2
         ON CONFLICT DO NOTHING",
    )?;
    for part in parts {
        let digest = part.digest.as_bytes();
        insert.execute(params![digest, part.bytes])?;
        name.execute(params![session, digest])?;
    }
    Ok(())
}

/// Deletes a session's row, the rows that depend on it, and the parts that no other session needs.
pub(crate) fn delete_session(connection: &Connection, session: i64) -> rusqlite::Result<()> {
    let mut named = connection.prepare_cached("SELECT part FROM parts WHERE session = ?1")?;
    let named = named.query_map([session], |row| row.get(0))?;
    let named = named.collect::<rusqlite::Result<Vec<i64>>>()?;
    let mut delete = connection.prepare_cached("DELETE FROM sessions WHERE number = ?1")?;
    delete.execute([session])?;
    let mut delete = connection.prepare_cached(
        "DELETE FROM texts_apart WHERE number = ?1
             AND NOT EXISTS (SELECT 1 FROM parts WHERE part = ?1)",
    )?;
    for part in named {
        delete.execute([part])?;
    }
    Ok(())
}

fn join_record<'a>(
    connection: &Connection,
    session: i64,
    record: &'a [u8],
) -> rusqlite::Result<Result<std::borrow::Cow<'a, [u8]>, DecodeError>> {
    jackfield_record::join(record, |digest, whole| {
        find(connection, session, digest, whole)
    })
}

/// Appends the text of a part of a session.
fn find(
    connection: &Connection,
    session: i64,
    digest: &Digest,
    whole: &mut Vec<u8>,
) -> rusqlite::Result<bool> {
    let mut query = connection.prepare_cached(
        "SELECT text FROM texts_apart WHERE digest = ?2
             AND EXISTS (SELECT 1 FROM parts WHERE session = ?1 AND part = number)",
    )?;
    let mut found = query.query(params![session, digest.as_bytes()])?;
    let Some(row) = found.next()? else {
        return Ok(false);
    };
    whole.extend_from_slice(row.get_ref(0)?.as_blob()?);
    Ok(true)
}
