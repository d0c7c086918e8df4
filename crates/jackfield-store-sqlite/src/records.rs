//! Reading the records of a session.

use jackfield_domain::fact::Envelope;
use jackfield_domain::setup_sharing::SetupSharing;
use jackfield_domain::wait::Delivery;
use jackfield_record::DecodeError;
use rusqlite::{Connection, params};

use crate::chain;
use crate::parts;
use crate::rows::StoredSession;

/// The steps of a session from this number on.
pub(crate) fn steps(
    connection: &Connection,
    row: &StoredSession,
    from: u64,
) -> rusqlite::Result<Result<Vec<Envelope>, DecodeError>> {
    let mut steps = Vec::new();
    let mut sharing = SetupSharing::default();
    let read = chain::for_each_step(connection, &row.end(), from, |_, record| {
        let step = parts::read_step(connection, row.number, record)?;
        Ok(step.map(|mut step| {
            sharing.share(&mut step);
            steps.push(step);
        }))
    })?;
    Ok(read.map(|()| steps))
}

/// The deliveries of a session from this number on.
pub(crate) fn deliveries(
    connection: &Connection,
    row: &StoredSession,
    from: u64,
) -> rusqlite::Result<Result<Vec<Delivery>, DecodeError>> {
    if row.deliveries <= from {
        return Ok(Ok(Vec::new()));
    }
    // No inbox reaches this length.
    let from = i64::try_from(from).unwrap_or(i64::MAX);
    records(
        connection,
        "SELECT record FROM deliveries WHERE session = ?1 AND place >= ?2 ORDER BY place",
        row.number,
        from,
        |record| Ok(jackfield_record::decode_delivery(record)),
    )
}

/// The records of a session that a query returns.
fn records<T>(
    connection: &Connection,
    query: &str,
    session: i64,
    from: i64,
    decode: impl Fn(&[u8]) -> rusqlite::Result<Result<T, DecodeError>>,
) -> rusqlite::Result<Result<Vec<T>, DecodeError>> {
    let mut query = connection.prepare_cached(query)?;
    let mut found = query.query(params![session, from])?;
    let mut records = Vec::new();
    while let Some(row) = found.next()? {
        match decode(row.get_ref(0)?.as_blob()?)? {
            Ok(record) => records.push(record),
            Err(error) => return Ok(Err(error)),
        }
    }
    Ok(Ok(records))
}
