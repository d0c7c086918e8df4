//! The rows of meters.

use jackfield_domain::quota::{Meter, MeterOperation, MeterOutcome};
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension as _, params};

/// Performs an operation within the current transaction.
pub(crate) fn perform(
    connection: &Connection,
    operation: &MeterOperation,
) -> rusqlite::Result<MeterOutcome> {
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
