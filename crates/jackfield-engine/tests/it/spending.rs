//! Spending records: each is read once, whatever the number of pages.

use std::sync::Arc;

use jackfield_domain::time::WallTime;
use jackfield_engine::Engine;
use jackfield_store_memory::MemoryJournal;
use jackfield_testkit::fakes::{FaultyJournal, JournalRequest};
use jackfield_testkit::spending::record;

fn at(millis: i64) -> WallTime {
    WallTime::from_millis(millis)
}

/// The ids that an engine reads.
async fn read(engine: &Engine, since: Option<WallTime>) -> Vec<String> {
    let mut ids = Vec::new();
    let unreadable = engine
        .read_spending(since, |record| ids.push(record.id.to_string()))
        .await;
    assert_eq!(unreadable.expect("a journal"), 0);
    ids
}

#[tokio::test]
async fn every_record_since_a_time_is_read_once() {
    let engine = Engine::builder(Arc::new(MemoryJournal::new())).build();
    let log = engine.spending().expect("a log");
    let mut ids = Vec::new();
    // More than two pages.
    for nth in 0..1_250 {
        let record = record(&format!("{nth:04}"), at(nth));
        log.record(&record).await.expect("recorded");
        ids.push(record.id.to_string());
    }
    assert_eq!(read(&engine, None).await, ids);
    assert_eq!(read(&engine, Some(at(700))).await, ids[700..]);
    assert_eq!(read(&engine, Some(at(1_250))).await, [""; 0]);
}

#[tokio::test]
async fn a_journal_without_a_log_has_no_records() {
    let journal = MemoryJournal::new().ephemeral();
    let engine = Engine::builder(Arc::new(journal)).build();
    assert!(engine.spending().is_none());
    assert_eq!(read(&engine, None).await, [""; 0]);
}

#[tokio::test]
async fn a_log_that_cannot_be_read_is_an_error() {
    let journal = FaultyJournal::new(Arc::new(MemoryJournal::new()));
    journal.fail_next(JournalRequest::SpendingRecords, 1);
    let engine = Engine::builder(Arc::new(journal)).build();
    let failed = engine.read_spending(None, |_| {}).await;
    assert!(failed.is_err(), "{failed:?}");
    assert_eq!(read(&engine, None).await, [""; 0]);
}
