//! The rows of meters.

use jackfield_domain::quota::{Meter, MeterOperation, MeterOutcome};
use tokio_postgres::Row;

use crate::commit::BEGIN;
use crate::error::Fault;
use crate::pool::{Connection, column, values};

/// Performs an operation in a transaction of its own.
pub(crate) async fn perform(
    connection: &mut Connection,
    operation: &MeterOperation,
) -> Result<MeterOutcome, Fault> {
    if let MeterOperation::Look { meters } = operation {
        let names: Vec<&str> = meters.iter().map(|name| &**name).collect();
        let rows = connection.query(READ, values![names => TEXT_ARRAY]).await?;
        return Ok(operation.apply(&mut meters_of(&names, &rows)?));
    }
    let (names, none) = (sorted(operation), none()?);
    let values = values![names => TEXT_ARRAY, none => BYTEA];
    connection.begin(BEGIN, MAKE, values).await?;
    let outcome = apply(connection, operation).await?;
    connection.commit().await?;
    Ok(outcome)
}

/// Performs an operation in the transaction that has begun.
pub(crate) async fn perform_within(
    connection: &mut Connection,
    operation: &MeterOperation,
) -> Result<MeterOutcome, Fault> {
    let (names, none) = (sorted(operation), none()?);
    let values = values![names => TEXT_ARRAY, none => BYTEA];
    connection.execute(MAKE, values).await?;
    apply(connection, operation).await
}

/// Applies an operation to its rows, which are there. They are made and locked in the order of their names, so that no
/// two operations wait for each other.
async fn apply(
    connection: &mut Connection,
    operation: &MeterOperation,
) -> Result<MeterOutcome, Fault> {
    let names: Vec<&str> = operation.meters().map(|name| &**name).collect();
    let locked = values![sorted(operation) => TEXT_ARRAY];
    let rows = connection.query(LOCK, locked).await?;
    let mut meters = meters_of(&names, &rows)?;
    let before = meters.clone();
    let outcome = operation.apply(&mut meters);
    let changed = names.iter().zip(meters.iter().zip(&before));
    for (name, (meter, _)) in changed.filter(|(_, (meter, before))| meter != before) {
        let record = jackfield_record::encode_meter(meter).map_err(Fault::row)?;
        let values = values![*name => TEXT, record => BYTEA];
        connection.execute(STORE, values).await?;
    }
    Ok(outcome)
}

/// The meters of these names in these rows. One without a row is the default.
fn meters_of(names: &[&str], rows: &[Row]) -> Result<Vec<Meter>, Fault> {
    let mut meters = Vec::new();
    for name in names {
        let mut meter = None;
        for row in rows {
            if column::<&str>(row, 0)? == *name {
                let record: &[u8] = column(row, 1)?;
                meter = Some(jackfield_record::decode_meter(record).map_err(Fault::row)?);
            }
        }
        meters.push(meter.unwrap_or_default());
    }
    Ok(meters)
}

fn sorted(operation: &MeterOperation) -> Vec<&str> {
    let mut names: Vec<&str> = operation.meters().map(|name| &**name).collect();
    names.sort_unstable();
    names
}

fn none() -> Result<Vec<u8>, Fault> {
    jackfield_record::encode_meter(&Meter::default()).map_err(Fault::row)
}

const MAKE: &str = "INSERT INTO jackfield.meters (name, record) \
     SELECT name, $2 FROM unnest($1) AS name ORDER BY name ON CONFLICT DO NOTHING";
const READ: &str = "SELECT name, record FROM jackfield.meters WHERE name = ANY($1)";
const LOCK: &str = "SELECT name, record FROM jackfield.meters WHERE name = ANY($1) \
     ORDER BY name FOR UPDATE";
const STORE: &str = "UPDATE jackfield.meters SET record = $2 WHERE name = $1";
