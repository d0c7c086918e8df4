//! The log of spending records.

use std::sync::Arc;

use async_trait::async_trait;
use jackfield_domain::quota::MeterOperation;
use jackfield_domain::spending_record::SpendingRecord;
use jackfield_domain::time::WallTime;
use jackfield_ports::journal::JournalError;
use jackfield_ports::journal::spending::{SpendingLog, SpendingPage, SpendingQuery};

use super::MemoryJournal;
use super::meters::unreachable;

#[async_trait]
impl SpendingLog for MemoryJournal {
    async fn record(&self, record: &SpendingRecord) -> Result<bool, JournalError> {
        let place = (record.at, Arc::clone(&record.id));
        let encoded = jackfield_record::encode_spending(record).map_err(unreachable)?;
        // The lock of the records is held until the meters are changed, too.
        let mut rows = self.spending_rows();
        let is_new = rows.insert(place, encoded);
        let known = rows.of(&record.id).filter(|_| !is_new);
        let known = known.and_then(|known| jackfield_record::decode_spending(known).ok());
        let replaced = known.and_then(|known| Some((record.replacing(&known)?, known)));
        let operation = if is_new {
            MeterOperation::settling(record)
        } else if let Some((record, known)) = replaced {
            let encoded = jackfield_record::encode_spending(&record).map_err(unreachable)?;
            rows.put((record.at, Arc::clone(&record.id)), encoded);
            MeterOperation::replacing(&known, &record)
        } else {
            MeterOperation::releasing(record)
        };
        if let Some(operation) = operation {
            self.perform_on_meters(&operation)?;
        }
        Ok(is_new)
    }

    async fn records(&self, query: &SpendingQuery) -> Result<SpendingPage, JournalError> {
        let found = self.spending_rows().find(query).into_iter();
        let rows = found.map(|(place, record)| {
            let record = jackfield_record::decode_spending(&record);
            (place, record.ok())
        });
        Ok(SpendingPage::new(query.limit, rows.collect()))
    }

    async fn delete_before(&self, before: WallTime, limit: usize) -> Result<usize, JournalError> {
        Ok(self.spending_rows().delete_before(before, limit))
    }
}
