//! The spending records, encoded, in their order.

use std::collections::{BTreeMap, HashSet};
use std::ops::Bound;
use std::sync::Arc;

use async_trait::async_trait;
use jackfield_domain::spending_record::SpendingRecord;
use jackfield_ports::journal::JournalError;
use jackfield_ports::journal::spending::{SpendingLog, SpendingPage, SpendingPlace, SpendingQuery};

use crate::journal::MemoryJournal;

/// The stored records.
#[derive(Default)]
pub(crate) struct SpendingRows {
    ids: HashSet<Arc<str>>,
    by_place: BTreeMap<SpendingPlace, Arc<[u8]>>,
}

impl SpendingRows {
    /// Stores a record under its place, unless there is one of the same id.
    fn insert(&mut self, place: SpendingPlace, record: Vec<u8>) {
        if self.ids.insert(Arc::clone(&place.1)) {
            self.by_place.insert(place, record.into());
        }
    }

    /// The rows that a query asks for.
    fn find(&self, query: &SpendingQuery) -> Vec<(SpendingPlace, Arc<[u8]>)> {
        let since = query.since.map(|since| (since, Arc::from("")));
        let begin = match (query.after.clone(), since) {
            (Some(after), Some(since)) if after < since => Bound::Included(since),
            (Some(after), _) => Bound::Excluded(after),
            (None, Some(since)) => Bound::Included(since),
            (None, None) => Bound::Unbounded,
        };
        let found = self.by_place.range((begin, Bound::Unbounded));
        let found = found.map(|(place, record)| (place.clone(), Arc::clone(record)));
        found.take(query.limit).collect()
    }
}

#[async_trait]
impl SpendingLog for MemoryJournal {
    async fn record(&self, record: &SpendingRecord) -> Result<(), JournalError> {
        let place = (record.at, Arc::clone(&record.id));
        let record = jackfield_record::encode_spending(record).map_err(|error| {
            JournalError::Unreachable {
                source: error.into(),
            }
        })?;
        self.spending_rows().insert(place, record);
        Ok(())
    }

    async fn records(&self, query: &SpendingQuery) -> Result<SpendingPage, JournalError> {
        let found = self.spending_rows().find(query).into_iter();
        let rows = found.map(|(place, record)| {
            let record = jackfield_record::decode_spending(&record);
            (place, record.ok())
        });
        Ok(SpendingPage::new(query.limit, rows.collect()))
    }
}
