//! The meters in a file that can be written.

use async_trait::async_trait;
use jackfield_domain::quota::{MeterOperation, MeterOutcome};
use jackfield_ports::journal::JournalError;
use jackfield_ports::journal::meters::Meters;
use rusqlite::Connection;

use super::SqliteJournal;
use crate::jobs::ConcurrentWriters;
use crate::meters;

#[async_trait]
impl Meters for SqliteJournal {
    async fn perform(&self, operation: &MeterOperation) -> Result<MeterOutcome, JournalError> {
        let operation = operation.clone();
        let work = move |connection: &Connection| meters::perform(connection, &operation);
        // A loss of power may undo it.
        let performed = self
            .writer
            .execute_unsynced(ConcurrentWriters::Others, work);
        let performed = performed.await;
        performed.map_err(|failed| self.unreachable(failed.fault))
    }
}
