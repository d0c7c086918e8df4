//! The meters.

use async_trait::async_trait;
use jackfield_domain::quota::{Meter, MeterOperation, MeterOutcome};
use jackfield_ports::journal::JournalError;
use jackfield_ports::journal::meters::Meters;

use super::{PostgresJournal, again};
use crate::commit::BEGIN;
use crate::error::Fault;
use crate::pool::{Connection, column, values};

#[async_trait]
impl Meters for PostgresJournal {
    async fn perform(&self, operation: &MeterOperation) -> Result<MeterOutcome, JournalError> {
        // A repetition takes nothing more.
        let performed = again!(perform(&mut self.pool.get().await?, operation).await);
        performed.map_err(|fault| self.unreachable(fault))
    }
}

/// Performs an operation in a transaction. Its rows are made and locked in the order of their names, so that no two
/// operations wait for each other.
async fn perform(
    connection: &mut Connection,
    operation: &MeterOperation,
) -> Result<MeterOutcome, Fault> {
    let names: Vec<&str> = operation.meters().map(|name| &**name).collect();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    let none = jackfield_record::encode_meter(&Meter::default()).map_err(Fault::row)?;
    let values = values![sorted => TEXT_ARRAY, none => BYTEA];
    connection.begin(BEGIN, MAKE, values).await?;
    let rows = connection
        .query(LOCK, values![sorted => TEXT_ARRAY])
        .await?;
    let mut meters = Vec::new();
    for name in &names {
        let mut meter = None;
        for row in &rows {
            if column::<&str>(row, 0)? == *name {
                let record: &[u8] = column(row, 1)?;
                meter = Some(jackfield_record::decode_meter(record).map_err(Fault::row)?);
            }
        }
        meters.push(meter.unwrap_or_default());
    }
    let before = meters.clone();
    let outcome = operation.apply(&mut meters);
    let changed = names.iter().zip(meters.iter().zip(&before));
    for (name, (meter, _)) in changed.filter(|(_, (meter, before))| meter != before) {
        let record = jackfield_record::encode_meter(meter).map_err(Fault::row)?;
        let values = values![*name => TEXT, record => BYTEA];
        connection.execute(STORE, values).await?;
    }
    connection.commit().await?;
    Ok(outcome)
}

const MAKE: &str = "INSERT INTO jackfield.meters (name, record) \
     SELECT name, $2 FROM unnest($1) AS name ORDER BY name ON CONFLICT DO NOTHING";
const LOCK: &str = "SELECT name, record FROM jackfield.meters WHERE name = ANY($1) \
     ORDER BY name FOR UPDATE";
const STORE: &str = "UPDATE jackfield.meters SET record = $2 WHERE name = $1";
