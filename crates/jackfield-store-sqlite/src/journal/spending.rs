//! The log of spending records in a file that can be written.

use async_trait::async_trait;
use jackfield_domain::spending_record::SpendingRecord;
use jackfield_domain::time::WallTime;
use jackfield_ports::journal::JournalError;
use jackfield_ports::journal::spending::{SpendingLog, SpendingPage, SpendingQuery};
use rusqlite::Connection;

use super::SqliteJournal;
use crate::jobs::ConcurrentWriters;
use crate::spending::{self, SpendingJob};

#[async_trait]
impl SpendingLog for SqliteJournal {
    async fn record(&self, record: &SpendingRecord) -> Result<bool, JournalError> {
        let job = SpendingJob::from_record(record).map_err(|error| JournalError::Unreachable {
            source: error.into(),
        })?;
        let work = move |connection: &Connection| job.insert(connection);
        // A request without a turn owns no session, so it is unknown whether others write at the same time.
        let written = self.writer.execute(ConcurrentWriters::Others, work).await;
        written.map_err(|failed| self.unreachable(failed.fault))
    }

    async fn records(&self, query: &SpendingQuery) -> Result<SpendingPage, JournalError> {
        let query = query.clone();
        self.inspect(move |connection| spending::page(connection, &query))
            .await
    }

    async fn delete_before(&self, before: WallTime, limit: usize) -> Result<usize, JournalError> {
        let work =
            move |connection: &Connection| spending::delete_before(connection, before, limit);
        let deleted = self.writer.execute(ConcurrentWriters::Others, work).await;
        deleted.map_err(|failed| self.unreachable(failed.fault))
    }
}
