//! The spending records, encoded, in their order.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use jackfield_domain::time::WallTime;
use jackfield_ports::journal::spending::{SpendingPlace, SpendingQuery};

#[derive(Default)]
pub(crate) struct SpendingRows {
    /// The time of each id.
    times: HashMap<Arc<str>, WallTime>,
    by_place: BTreeMap<SpendingPlace, Arc<[u8]>>,
}

impl SpendingRows {
    /// Stores a record under its place, unless there is one of the same id; returns whether it is new.
    pub(crate) fn insert(&mut self, place: SpendingPlace, record: Vec<u8>) -> bool {
        let is_new = !self.times.contains_key(&place.1);
        if is_new {
            self.put(place, record);
        }
        is_new
    }

    /// Stores a record under its place, instead of one that may be there.
    pub(crate) fn put(&mut self, place: SpendingPlace, record: Vec<u8>) {
        self.times.insert(Arc::clone(&place.1), place.0);
        self.by_place.insert(place, record.into());
    }

    /// The row of an id.
    pub(crate) fn of(&self, id: &Arc<str>) -> Option<&[u8]> {
        let place = (*self.times.get(id)?, Arc::clone(id));
        self.by_place.get(&place).map(|record| &**record)
    }

    /// Deletes the oldest rows of earlier times; returns their number.
    pub(crate) fn delete_before(&mut self, before: WallTime, limit: usize) -> usize {
        let old = self.by_place.range(..(before, Arc::from("")));
        let old: Vec<SpendingPlace> = old.take(limit).map(|(place, _)| place.clone()).collect();
        for place in &old {
            self.by_place.remove(place);
            self.times.remove(&place.1);
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
