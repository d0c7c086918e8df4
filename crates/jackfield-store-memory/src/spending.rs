//! The spending records, encoded, in their order.

use std::collections::{BTreeMap, HashSet};
use std::ops::Bound;
use std::sync::Arc;

use jackfield_domain::time::WallTime;
use jackfield_ports::journal::spending::{SpendingPlace, SpendingQuery};

#[derive(Default)]
pub(crate) struct SpendingRows {
    ids: HashSet<Arc<str>>,
    by_place: BTreeMap<SpendingPlace, Arc<[u8]>>,
}

impl SpendingRows {
    /// Stores a record under its place, unless there is one of the same id; returns whether it is new.
    pub(crate) fn insert(&mut self, place: SpendingPlace, record: Vec<u8>) -> bool {
        let is_new = self.ids.insert(Arc::clone(&place.1));
        if is_new {
            self.by_place.insert(place, record.into());
        }
        is_new
    }

    /// Deletes the oldest rows of earlier times; returns their number.
    pub(crate) fn delete_before(&mut self, before: WallTime, limit: usize) -> usize {
        let old = self.by_place.range(..(before, Arc::from("")));
        let old: Vec<SpendingPlace> = old.take(limit).map(|(place, _)| place.clone()).collect();
        for place in &old {
            self.by_place.remove(place);
            self.ids.remove(&place.1);
        }
        old.len()
    }

    /// The rows that a query asks for.
    pub(crate) fn find(&self, query: &SpendingQuery) -> Vec<(SpendingPlace, Arc<[u8]>)> {
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
