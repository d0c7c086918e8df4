//! The rows of meters.

use jackfield_domain::quota::{Meter, MeterOperation, MeterOutcome};
use tokio_postgres::Row;

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
    apply(connection, operation).await
}

/// Applies an operation, in the transaction that has begun or in one of its own, and commits it. It takes two exchanges: its rows are made and locked in the order of their names, so that no two
/// operations wait for each other; and what has changed is stored and committed.
pub(crate) async fn apply(
    connection: &mut Connection,
    operation: &MeterOperation,
) -> Result<MeterOutcome, Fault> {
    let names: Vec<&str> = operation.meters().map(|name| &**name).collect();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    let none = jackfield_record::encode_meter(&Meter::default()).map_err(Fault::row)?;
    let made = values![sorted => TEXT_ARRAY, none => BYTEA];
    let locked = values![sorted => TEXT_ARRAY];
    let rows = connection.query_after((MAKE, made), LOCK, locked);
    let mut meters = meters_of(&names, &rows.await?)?;
    let before = meters.clone();
    let outcome = operation.apply(&mut meters);
    let (mut changed, mut records) = (Vec::new(), Vec::new());
    for (name, (meter, before)) in names.iter().zip(meters.iter().zip(&before)) {
        if meter != before {
            changed.push(*name);
            records.push(jackfield_record::encode_meter(meter).map_err(Fault::row)?);
        }
    }
    let values = values![changed => TEXT_ARRAY, records => BYTEA_ARRAY];
    connection.commit_with(STORE, values).await?;
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

const MAKE: &str = "INSERT INTO jackfield.meters (name, record) \
     SELECT name, $2 FROM unnest($1) AS name ORDER BY name ON CONFLICT DO NOTHING";
const READ: &str = "SELECT name, record FROM jackfield.meters WHERE name = ANY($1)";
const LOCK: &str = "SELECT name, record FROM jackfield.meters WHERE name = ANY($1) \
     ORDER BY name FOR UPDATE";
const STORE: &str = "UPDATE jackfield.meters AS stored SET record = new.record \
     FROM unnest($1, $2) AS new (name, record) WHERE stored.name = new.name";
