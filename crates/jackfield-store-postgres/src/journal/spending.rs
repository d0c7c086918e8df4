//! The log of spending records.

use async_trait::async_trait;
use jackfield_domain::spending_record::SpendingRecord;
use jackfield_domain::time::WallTime;
use jackfield_ports::journal::JournalError;
use jackfield_ports::journal::spending::{SpendingLog, SpendingPage, SpendingQuery};

use super::{PostgresJournal, again};
use crate::spending;

#[async_trait]
impl SpendingLog for PostgresJournal {
    async fn record(&self, record: &SpendingRecord) -> Result<bool, JournalError> {
        let encoded = jackfield_record::encode_spending(record);
        let encoded = encoded.map_err(|error| JournalError::Unreachable {
            source: error.into(),
        })?;
        let stored = again!(spending::insert(&mut self.pool.get().await?, record, &encoded).await);
        stored.map_err(|fault| self.unreachable(fault))
    }

    async fn records(&self, query: &SpendingQuery) -> Result<SpendingPage, JournalError> {
        let page = again!(spending::page(&mut self.pool.get().await?, query).await);
        page.map_err(|fault| self.unreachable(fault))
    }

    async fn delete_before(&self, before: WallTime, limit: usize) -> Result<usize, JournalError> {
        let deleted =
            again!(spending::delete_before(&mut self.pool.get().await?, before, limit).await);
        deleted.map_err(|fault| self.unreachable(fault))
    }
}
