//! The rows of spending records, which belong to no session.

use std::sync::Arc;

use jackfield_domain::quota::MeterOperation;
use jackfield_domain::spending_record::SpendingRecord;
use jackfield_domain::time::WallTime;
use jackfield_ports::journal::spending::{SpendingPage, SpendingQuery};
use jackfield_record::{DecodeError, VOCABULARY};
use tokio_postgres::Row;

use crate::error::Fault;
use crate::meters;
use crate::pool::{Connection, Transaction, column, values};
use crate::requests::utf8;

/// Stores a record and adds what it settled to its meters, unless there is one of the same id that it does not replace.
/// Returns whether there was none.
pub(crate) async fn insert(
    connection: &mut Connection,
    record: &SpendingRecord,
    encoded: &[u8],
) -> Result<bool, Fault> {
    let values = values![
        record.id.as_bytes() => BYTEA, record.at.as_millis() => INT8, i64::from(VOCABULARY) => INT8,
        encoded => BYTEA,
    ];
    let is_new = if record.settled.is_empty() {
        let is_new = connection.execute(INSERT, values).await? > 0;
        if is_new || record.usage.estimated() > 0 {
            return Ok(is_new);
        }
        is_new
    } else {
        let begun = connection
            .begin(Transaction::Synced, INSERT, values)
            .await?;
        !begun.is_empty()
    };
    let operation = if is_new {
        MeterOperation::settling(record)
    } else if let Some(known) = replace(connection, record).await? {
        MeterOperation::replacing(&known, record)
    } else {
        MeterOperation::releasing(record)
    };
    match operation {
        Some(operation) => {
            meters::apply(connection, &operation).await?;
        }
        None => connection.commit().await?,
    }
    Ok(is_new)
}

/// Stores the record in place of the one of its id, if it replaces that one, which is returned. Within a transaction, which
/// it begins if none has.
async fn replace(
    connection: &mut Connection,
    record: &SpendingRecord,
) -> Result<Option<SpendingRecord>, Fault> {
    let id = record.id.as_bytes();
    let found = if record.settled.is_empty() {
        connection
            .begin(Transaction::Synced, LOCK, values![id => BYTEA])
            .await?
    } else {
        connection.query(LOCK, values![id => BYTEA]).await?
    };
    let found = found.first().map(SpendingRow::from_row).transpose()?;
    let known = found.and_then(|row| row.read().ok());
    let Some((known, record)) = known.and_then(|known| {
        let record = record.replacing(&known)?;
        Some((known, record))
    }) else {
        return Ok(None);
    };
    let encoded = jackfield_record::encode_spending(&record).map_err(Fault::row)?;
    let values = values![
        id => BYTEA, i64::from(VOCABULARY) => INT8, encoded => BYTEA,
    ];
    connection.execute(REPLACE, values).await?;
    Ok(Some(known))
}

/// The page that a query asks for.
pub(crate) async fn page(
    connection: &mut Connection,
    query: &SpendingQuery,
) -> Result<SpendingPage, Fault> {
    let after = query.after.as_ref();
    let (at, id) = after
        .map(|(at, id)| (at.as_millis(), id.as_bytes()))
        .unzip();
    // The index finds the time; records of the same time are few.
    let begin = at.max(query.since.map(WallTime::as_millis));
    let begin = begin.unwrap_or(i64::MIN);
    let limit = i64::try_from(query.limit).unwrap_or(i64::MAX);
    let values = values![begin => INT8, at => INT8, id => BYTEA, limit => INT8];
    let found = connection.query(PAGE, values).await?;
    let rows = found.iter().map(|row| {
        let row = SpendingRow::from_row(row)?;
        let record = row.read().ok();
        Ok(((row.at, row.id), record))
    });
    let rows = rows.collect::<Result<_, Fault>>()?;
    Ok(SpendingPage::new(query.limit, rows))
}

/// Deletes the oldest records of earlier times; returns their number.
pub(crate) async fn delete_before(
    connection: &mut Connection,
    before: WallTime,
    limit: usize,
) -> Result<usize, Fault> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let values = values![before.as_millis() => INT8, limit => INT8];
    let deleted = connection.execute(DELETE, values).await?;
    Ok(usize::try_from(deleted).unwrap_or(usize::MAX))
}

pub(crate) struct SpendingRow {
    at: WallTime,
    pub(crate) id: Arc<str>,
    record: Vec<u8>,
    /// The vocabulary of the version that wrote it.
    vocabulary: i64,
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

impl SpendingRow {
    /// Reads a row of [`PAGE`].
    pub(crate) fn from_row(row: &Row) -> Result<Self, Fault> {
        Ok(Self {
            id: utf8(column(row, 0)?)?,
            at: WallTime::from_millis(column(row, 1)?),
            vocabulary: column(row, 2)?,
            record: column(row, 3)?,
        })
    }

    pub(crate) fn read(&self) -> Result<SpendingRecord, SpendingFault> {
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

const INSERT: &str = "INSERT INTO jackfield.spending (id, at, vocabulary, record)
     VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING RETURNING id";
const LOCK: &str = "SELECT id, at, vocabulary, record FROM jackfield.spending \
     WHERE id = $1 FOR UPDATE";
const REPLACE: &str = "UPDATE jackfield.spending SET vocabulary = $2, record = $3 WHERE id = $1";
pub(crate) const PAGE: &str = "SELECT id, at, vocabulary, record FROM jackfield.spending
     WHERE at >= $1 AND ($2::bigint IS NULL OR (at, id) > ($2, $3)) ORDER BY at, id LIMIT $4";
const DELETE: &str = "DELETE FROM jackfield.spending WHERE id IN
     (SELECT id FROM jackfield.spending WHERE at < $1 ORDER BY at, id LIMIT $2)";
