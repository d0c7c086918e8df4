//! The log of spending records: the usage of model calls that belong to no session.

use std::sync::Arc;

use async_trait::async_trait;
use jackfield_domain::spending_record::SpendingRecord;
use jackfield_domain::time::WallTime;

use super::JournalError;

/// Stores spending records beside the sessions, for reports and budgets. A journal that went back to an older state
/// lacks the records since then, and need not notice.
///
/// # Contract
///
/// - `record` MUST store a record once: a record whose id is stored already changes nothing and is no error, whatever
///   else is in it, unless it [replaces](SpendingRecord::replacing) the known one: the count of what that one estimates
///   MUST take its place. A record that `record` returned `Ok` for MUST be as durable as a committed append. After an error
///   it may be stored or not; the caller may repeat the request.
/// - A journal with [`Meters`](super::meters::Meters) MUST perform
///   [`MeterOperation::settling`](jackfield_domain::quota::MeterOperation::settling) of a record in the transaction that
///   stores it, and only if the record is new; of one that replaces another
///   [`MeterOperation::replacing`](jackfield_domain::quota::MeterOperation::replacing), and of any other
///   [`MeterOperation::releasing`](jackfield_domain::quota::MeterOperation::releasing).
/// - `records` MUST return what was recorded, equal, through the stored form, ordered by time and then by id as bytes.
/// - A record is in `records` from the moment that `record` returned `Ok`. Pages that continue each other MUST have
///   every record that was stored before the first of them exactly once, whatever is recorded meanwhile.
/// - A record that cannot be read MUST NOT fail a page: the page has its id instead.
/// - `delete_before` MUST delete the oldest records of earlier times, no others, and no more than its limit. The ids of
///   deleted records may be stored again.
#[async_trait]
pub trait SpendingLog: Send + Sync {
    /// Stores a record, unless there is one of the same id. Returns whether there was none: after a lost answer, a
    /// repetition may find its own.
    ///
    /// # Errors
    ///
    /// [`JournalError::Unreachable`] if the journal cannot be reached or written.
    async fn record(&self, record: &SpendingRecord) -> Result<bool, JournalError>;

    /// A page of the records, the oldest first.
    ///
    /// A request is recorded when it ends, under the time at which it began: a later record may stand before records
    /// that were returned. So a caller that updates a sum reads from a time on again, and not from a place on.
    ///
    /// # Errors
    ///
    /// [`JournalError::Unreachable`] if the journal cannot be read.
    async fn records(&self, query: &SpendingQuery) -> Result<SpendingPage, JournalError>;

    /// Deletes the records of times before this one, at most `limit` of them. Returns their number.
    ///
    /// # Errors
    ///
    /// [`JournalError::Unreachable`] if the journal cannot be reached or written.
    async fn delete_before(&self, before: WallTime, limit: usize) -> Result<usize, JournalError>;
}

/// The place of a record in the list: its time and its id.
pub type SpendingPlace = (WallTime, Arc<str>);

/// A query for spending records.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct SpendingQuery {
    /// Only records after this place, for paging: [`next`](SpendingPage::next) of the previous page.
    pub after: Option<SpendingPlace>,
    /// The maximum number of records, including those that cannot be read.
    pub limit: usize,
    /// Only records of this time and later ones.
    pub since: Option<WallTime>,
}

/// A page of spending records.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SpendingPage {
    /// The place after which the next page begins; `None` if this is the last page.
    pub next: Option<SpendingPlace>,
    /// The records, in order.
    pub records: Vec<SpendingRecord>,
    /// The ids of the records that cannot be read: a newer version wrote them, or they are damaged.
    pub unreadable: Vec<Arc<str>>,
}

impl SpendingPage {
    /// The page of these rows, which a journal found for a query with this limit: the place of each record, and the
    /// record if it can be read.
    #[must_use]
    pub fn new(limit: usize, rows: Vec<(SpendingPlace, Option<SpendingRecord>)>) -> Self {
        let mut page = Self::default();
        if rows.len() >= limit {
            page.next = rows.last().map(|(place, _)| place.clone());
        }
        for ((_, id), record) in rows {
            match record {
                Some(record) => page.records.push(record),
                None => page.unreadable.push(id),
            }
        }
        page
    }
}
