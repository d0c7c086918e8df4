//! Reading the records of a session.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;

use jackfield_domain::digest::Digest;
use jackfield_domain::fact::Envelope;
use jackfield_domain::ids::SessionId;
use jackfield_domain::setup_sharing::SetupSharing;
use jackfield_domain::wait::Delivery;
use jackfield_record::DecodeError;

use crate::error::Fault;
use crate::pool::{Connection, column, int, values};
use crate::rows::{SELECT, StoredSession};

/// The row of a session, if there is one.
pub(crate) async fn session(
    connection: &mut Connection,
    session: &SessionId,
) -> Result<Option<StoredSession>, Fault> {
    let session = session.as_str();
    let none: Option<i64> = None;
    let values = values![session => TEXT, none => INT8];
    let row = connection.query_row(SELECT, values).await?;
    row.as_ref().map(StoredSession::from_row).transpose()
}

/// The steps of a session from this number on, as many as its row says.
pub(crate) async fn steps(
    connection: &mut Connection,
    row: &StoredSession,
    from: u64,
) -> Result<Result<Vec<Envelope>, DecodeError>, Fault> {
    if row.steps <= from {
        return Ok(Ok(Vec::new()));
    }
    let values = values![row.number => INT8, int(from) => INT8, int(row.steps) => INT8];
    let found = connection.query(STEPS, values).await?;
    check_count(found.len(), row.steps - from)?;
    let records = found.iter().map(|row| column(row, 0));
    let records: Vec<&[u8]> = records.collect::<Result<_, _>>()?;
    let parts = parts(connection, row.number, &records).await?;
    let mut sharing = SetupSharing::default();
    let steps = records.iter().map(|record| {
        let mut step = step(record, &parts)?;
        sharing.share(&mut step);
        Ok(step)
    });
    Ok(steps.collect())
}

/// The deliveries of a session from this number on, as many as its row says.
pub(crate) async fn deliveries(
    connection: &mut Connection,
    row: &StoredSession,
    from: u64,
) -> Result<Result<Vec<Delivery>, DecodeError>, Fault> {
    if row.deliveries <= from {
        return Ok(Ok(Vec::new()));
    }
    let values = values![row.number => INT8, int(from) => INT8, int(row.deliveries) => INT8];
    let found = connection.query(DELIVERIES, values).await?;
    check_count(found.len(), row.deliveries - from)?;
    let mut deliveries = Vec::with_capacity(found.len());
    for row in &found {
        match jackfield_record::decode_delivery(column(row, 0)?) {
            Ok(delivery) => deliveries.push(delivery),
            Err(error) => return Ok(Err(error)),
        }
    }
    Ok(Ok(deliveries))
}

fn check_count(found: usize, expected: u64) -> Result<(), Fault> {
    if found as u64 == expected {
        return Ok(());
    }
    Err(Fault::row("some of its steps or deliveries are missing"))
}

/// The texts that were cut out of these records.
async fn parts(
    connection: &mut Connection,
    session: i64,
    records: &[&[u8]],
) -> Result<HashMap<Digest, Vec<u8>>, Fault> {
    let mut digests = HashSet::new();
    for record in records {
        // The texts are not there yet: only their digests are asked for.
        let _incomplete = jackfield_record::join(record, |digest, _| {
            digests.insert(*digest);
            Ok::<_, Infallible>(true)
        });
    }
    let mut parts = HashMap::new();
    if digests.is_empty() {
        return Ok(parts);
    }
    let asked: Vec<&[u8]> = digests
        .iter()
        .map(|digest| &digest.as_bytes()[..])
        .collect();
    let values = values![session => INT8, asked => BYTEA_ARRAY];
    for row in connection.query(PARTS, values).await? {
        let text: Vec<u8> = column(&row, 0)?;
        parts.insert(Digest::of(&text), text);
    }
    Ok(parts)
}

fn step(record: &[u8], parts: &HashMap<Digest, Vec<u8>>) -> Result<Envelope, DecodeError> {
    let joined = jackfield_record::join(record, |digest, whole| {
        let part = parts.get(digest);
        whole.extend_from_slice(part.map(Vec::as_slice).unwrap_or_default());
        Ok::<_, Infallible>(part.is_some())
    });
    match joined {
        Ok(whole) => jackfield_record::decode_envelope(&whole?),
        Err(never) => match never {},
    }
}

const STEPS: &str = "SELECT record FROM jackfield.steps
     WHERE session = $1 AND position >= $2 AND position < $3 ORDER BY position";
const DELIVERIES: &str = "SELECT record FROM jackfield.deliveries
     WHERE session = $1 AND place >= $2 AND place < $3 ORDER BY place";
const PARTS: &str = "SELECT text FROM jackfield.parts WHERE session = $1 AND digest = ANY($2)";
