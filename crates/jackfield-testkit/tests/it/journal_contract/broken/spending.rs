//! Mistakes of the log of spending records.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "each method knows only the mistakes that are its own"
)]

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use async_trait::async_trait;
use jackfield_domain::spending_record::SpendingRecord;
use jackfield_domain::time::WallTime;
use jackfield_ports::journal::spending::{SpendingLog, SpendingPage, SpendingQuery};
use jackfield_ports::journal::{Journal as _, JournalError};

use super::{Mistake, Mistaken};

impl Mistaken {
    fn log(&self) -> &dyn SpendingLog {
        self.inner.spending().expect("a log")
    }

    async fn every(&self) -> Result<SpendingPage, JournalError> {
        let every = SpendingQuery {
            limit: usize::MAX,
            ..SpendingQuery::default()
        };
        self.log().records(&every).await
    }
}

#[async_trait]
impl SpendingLog for Mistaken {
    async fn record(&self, record: &SpendingRecord) -> Result<bool, JournalError> {
        let mut record = record.clone();
        let repeated = {
            let mut spent = self.spent.lock().expect("no panic");
            let repeated = spent.iter().any(|one| one.id == record.id);
            spent.push(record.clone());
            repeated
        };
        match self.is {
            Mistake::SpendingRepetitionRefused if repeated => {
                let source = "it is there".into();
                return Err(JournalError::Unreachable { source });
            }
            Mistake::SpendingEstimateKept if repeated => return Ok(false),
            Mistake::SpendingTwice if repeated => record.id = format!("{} again", record.id).into(),
            _ => {}
        }
        self.log().record(&record).await
    }

    async fn records(&self, query: &SpendingQuery) -> Result<SpendingPage, JournalError> {
        let mut query = query.clone();
        match self.is {
            Mistake::SpendingLimitIgnored => query.limit = usize::MAX,
            // By its number, and not by its place.
            Mistake::SpendingPagesRepeat if query.after.is_some() => {
                let mut all = self.every().await?;
                let read = self.count.load(Ordering::Relaxed);
                all.records.drain(..read.min(all.records.len()));
                all.records.truncate(query.limit);
                let last = all.records.last();
                all.next = last.map(|last| (last.at, Arc::clone(&last.id)));
                let count = read + all.records.len();
                self.count.store(count, Ordering::Relaxed);
                return Ok(all);
            }
            Mistake::SpendingPagesSkip => {
                let after = query.after.take();
                query.since = after.map(|(at, _)| later(at)).max(query.since);
            }
            Mistake::SpendingSinceExcluded => query.since = query.since.map(later),
            Mistake::SpendingPlaceIgnored if query.since.is_some() => query.after = None,
            _ => {}
        }
        let mut page = self.log().records(&query).await?;
        self.count.store(page.records.len(), Ordering::Relaxed);
        let spent = self.spent.lock().expect("no panic").clone();
        match self.is {
            Mistake::SpendingOverwritten => {
                for record in &mut page.records {
                    let last = spent.iter().rfind(|one| one.id == record.id);
                    *record = last.expect("it was recorded").clone();
                }
            }
            Mistake::SpendingRounded => {
                for record in &mut page.records {
                    let millis = record.took.as_millis();
                    record.took = Duration::from_millis(u64::try_from(millis).expect("short"));
                }
            }
            Mistake::SpendingUnordered => page.records.sort_by_key(|record| {
                let mut arrived = spent.iter();
                arrived.position(|one| one.id == record.id)
            }),
            _ => {}
        }
        Ok(page)
    }

    async fn delete_before(&self, before: WallTime, limit: usize) -> Result<usize, JournalError> {
        match self.is {
            Mistake::SpendingDeletedAtTheTime => {
                self.log().delete_before(later(before), limit).await
            }
            Mistake::SpendingDeletedBeyondTheLimit => {
                self.log().delete_before(before, usize::MAX).await
            }
            Mistake::SpendingNeverDeleted => Ok(limit.min(2)),
            _ => self.log().delete_before(before, limit).await,
        }
    }
}

fn later(at: WallTime) -> WallTime {
    at.after(Duration::from_millis(1))
}
