//! The meters in a file that can be written.

use async_trait::async_trait;
use jackfield_domain::quota::{Meter, MeterOperation, MeterOutcome};
use jackfield_ports::journal::JournalError;
use jackfield_ports::journal::meters::Meters;
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::SqliteJournal;
use crate::jobs::ConcurrentWriters;

#[async_trait]
impl Meters for SqliteJournal {
    async fn perform(&self, operation: &MeterOperation) -> Result<MeterOutcome, JournalError> {
        let operation = operation.clone();
        let work = move |connection: &Connection| perform(connection, &operation);
        // A loss of power may undo it.
        let performed = self
            .writer
            .execute_unsynced(ConcurrentWriters::Others, work);
        let performed = performed.await;
        performed.map_err(|failed| self.unreachable(failed.fault))
    }
}

fn perform(connection: &Connection, operation: &MeterOperation) -> rusqlite::Result<MeterOutcome> {
    let mut meters = Vec::new();
    for name in operation.meters() {
        let record: Option<Vec<u8>> = connection
            .prepare_cached("SELECT record FROM meters WHERE name = ?1")?
            .query_row([name], |row| row.get(0))
            .optional()?;
        let meter = record.map(|record| {
            let decoded = jackfield_record::decode_meter(&record);
            let unread = |error| rusqlite::Error::FromSqlConversionFailure(0, Type::Blob, error);
            decoded.map_err(|error| unread(error.into()))
        });
        meters.push(meter.transpose()?.unwrap_or_default());
    }
    let before: Vec<Meter> = meters.clone();
    let outcome = operation.apply(&mut meters);
    let changed = operation.meters().zip(meters.iter().zip(&before));
    for (name, (meter, _)) in changed.filter(|(_, (meter, before))| meter != before) {
        let record = jackfield_record::encode_meter(meter)
            .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
        connection
            .prepare_cached(
                "INSERT INTO meters (name, record) VALUES (?1, ?2)
                 ON CONFLICT DO UPDATE SET record = excluded.record",
            )?
            .execute(params![name, record])?;
    }
    Ok(outcome)
}
