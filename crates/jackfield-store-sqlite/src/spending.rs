//! The rows of spending records, which belong to no session.

use std::sync::Arc;

use jackfield_domain::quota::MeterOperation;
use jackfield_domain::spending_record::SpendingRecord;
use jackfield_domain::time::WallTime;
use jackfield_ports::journal::spending::{SpendingPage, SpendingQuery};
use jackfield_record::{DecodeError, EncodeError, VOCABULARY};
use rusqlite::{Connection, Row, params};

use crate::meters;

/// A record to store, encoded by its requester.
pub(crate) struct SpendingJob {
    encoded: Vec<u8>,
    record: SpendingRecord,
}

impl SpendingJob {
    pub(crate) fn from_record(record: &SpendingRecord) -> Result<Self, EncodeError> {
        Ok(Self {
            encoded: jackfield_record::encode_spending(record)?,
            record: record.clone(),
        })
    }

    /// Stores the record and adds what it settled to its meters, unless there is one of the same id that it does not
    /// replace. Returns whether there was none.
    pub(crate) fn insert(&self, connection: &Connection) -> rusqlite::Result<bool> {
        let mut insert = connection.prepare_cached(
            "INSERT INTO spending (id, at, vocabulary, record) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT DO NOTHING",
        )?;
        let Self { encoded, record } = self;
        let at = record.at.as_millis();
        let is_new = insert.execute(params![record.id, at, VOCABULARY, encoded])? > 0;
        let operation = if is_new {
            MeterOperation::settling(record)
        } else if let Some(known) = replace(connection, record)? {
            MeterOperation::replacing(&known, record)
        } else {
            MeterOperation::releasing(record)
        };
        if let Some(operation) = operation {
            meters::perform(connection, &operation)?;
        }
        Ok(is_new)
    }
}

/// Stores the record in place of the one of its id, if it replaces that one, which is returned.
fn replace(
    connection: &Connection,
    record: &SpendingRecord,
) -> rusqlite::Result<Option<SpendingRecord>> {
    let known = connection
        .prepare_cached("SELECT id, at, vocabulary, record FROM spending WHERE id = ?1")?
        .query_row([&record.id], SpendingRow::from_row)?;
    let Some(known) = known.read().ok() else {
        return Ok(None);
    };
    let Some(record) = record.replacing(&known) else {
        return Ok(None);
    };
    let encoded = jackfield_record::encode_spending(&record)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
    connection
        .prepare_cached("UPDATE spending SET vocabulary = ?2, record = ?3 WHERE id = ?1")?
        .execute(params![record.id, VOCABULARY, encoded])?;
    Ok(Some(known))
}

/// The page that a query asks for.
pub(crate) fn page(
    connection: &Connection,
    query: &SpendingQuery,
) -> rusqlite::Result<SpendingPage> {
    let after = query.after.as_ref();
    let (at, id) = after.map(|(at, id)| (at.as_millis(), id)).unzip();
    // The index finds the time; records of the same time are few.
    let begin = at.max(query.since.map(WallTime::as_millis));
    let limit = i64::try_from(query.limit).unwrap_or(i64::MAX);
    let mut select = connection.prepare_cached(
        "SELECT id, at, vocabulary, record FROM spending
         WHERE at >= ?1 AND (?2 IS NULL OR (at, id) > (?2, ?3))
         ORDER BY at, id LIMIT ?4",
    )?;
    let found = select.query_map(
        params![begin.unwrap_or(i64::MIN), at, id, limit],
        SpendingRow::from_row,
    )?;
    let rows = found.map(|row| {
        let row = row?;
        let record = row.read().ok();
        Ok(((row.at, row.id), record))
    });
    Ok(SpendingPage::new(
        query.limit,
        rows.collect::<rusqlite::Result<_>>()?,
    ))
}

/// Deletes the oldest records of earlier times; returns their number.
pub(crate) fn delete_before(
    connection: &Connection,
    before: WallTime,
    limit: usize,
) -> rusqlite::Result<usize> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut delete = connection.prepare_cached(
        "DELETE FROM spending WHERE number IN
         (SELECT number FROM spending WHERE at < ?1 ORDER BY at, id LIMIT ?2)",
    )?;
    delete.execute(params![before.as_millis(), limit])
}

/// Passes each record's id, and the record or why it cannot be read, to `visit`, in the order of arrival.
pub(crate) fn for_each(
    connection: &Connection,
    mut visit: impl FnMut(&str, Result<SpendingRecord, SpendingFault>),
) -> rusqlite::Result<()> {
    let mut select = connection
        .prepare_cached("SELECT id, at, vocabulary, record FROM spending ORDER BY number")?;
    let mut found = select.query(())?;
    while let Some(row) = found.next()? {
        let row = SpendingRow::from_row(row)?;
        visit(&row.id, row.read());
    }
    Ok(())
}

/// Why a record cannot be read.
pub(crate) enum SpendingFault {
    /// Its row and the record differ.
    Different,
    /// A newer version wrote it.
    Newer,
    /// It cannot be decoded.
    Record(DecodeError),
}

struct SpendingRow {
    at: WallTime,
    id: Arc<str>,
    record: Vec<u8>,
    /// The vocabulary of the version that wrote it.
    vocabulary: i64,
}

impl SpendingRow {
    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            at: WallTime::from_millis(row.get(1)?),
            vocabulary: row.get(2)?,
            record: row.get(3)?,
        })
    }

    fn read(&self) -> Result<SpendingRecord, SpendingFault> {
        if self.vocabulary > i64::from(VOCABULARY) {
            return Err(SpendingFault::Newer);
        }
        match jackfield_record::decode_spending(&self.record) {
            Ok(record) if (record.at, &record.id) == (self.at, &self.id) => Ok(record),
            Ok(_) => Err(SpendingFault::Different),
            Err(error) if error.is_newer() => Err(SpendingFault::Newer),
            Err(error) => Err(SpendingFault::Record(error)),
        }
    }
}
