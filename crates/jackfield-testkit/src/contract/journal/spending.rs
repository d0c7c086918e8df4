//! Clauses about the log of spending records. A journal without one has nothing to satisfy.
#![expect(clippy::expect_used, reason = "a clause ends where its journal fails")]

use std::sync::Arc;

use jackfield_domain::spending_record::SpendingRecord;
use jackfield_domain::time::WallTime;
use jackfield_domain::usage::Usage;
use jackfield_ports::journal::Journal;
use jackfield_ports::journal::spending::{SpendingLog, SpendingPlace, SpendingQuery};
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;

use super::{JournalHarness, START};
use crate::{arb, spending};

pub(super) async fn a_spending_record_comes_back_equal<H: JournalHarness>() {
    let harness = H::fresh().await;
    let journal = harness.journal();
    let Some(log) = journal.spending() else {
        return;
    };
    let mut records = generated();
    records.push(record("a time in nanoseconds", 0));
    for record in &records {
        log.record(record).await.expect("recorded");
    }
    assert_eq!(all(log).await, sorted(records));
}

pub(super) async fn a_spending_record_is_stored_once<H: JournalHarness>() {
    let harness = H::fresh().await;
    let journal = harness.journal();
    let Some(log) = journal.spending() else {
        return;
    };
    let first = record("a", 0);
    for _ in 0..3 {
        log.record(&first).await.expect("recorded");
    }
    // A repetition is recognised after later records, and by every process.
    log.record(&record("b", 1)).await.expect("recorded");
    log.record(&first).await.expect("recorded");
    if let Some(another) = harness.another_process().await {
        let another = another.spending().expect("the same log");
        another.record(&first).await.expect("recorded");
    }
    assert_eq!(all(log).await, [first, record("b", 1)]);
}

pub(super) async fn the_first_spending_record_of_an_id_stays<H: JournalHarness>() {
    let harness = H::fresh().await;
    let journal = harness.journal();
    let Some(log) = journal.spending() else {
        return;
    };
    let first = record("a", 1);
    let usage = Usage::estimate(7, 7);
    let others = [
        record("a", 0),
        record("a", 2),
        SpendingRecord {
            usage,
            ..first.clone()
        },
    ];
    log.record(&first).await.expect("recorded");
    for other in &others {
        log.record(other).await.expect("an id that is there");
    }
    assert_eq!(all(log).await, [first]);
}

pub(super) async fn a_count_replaces_its_estimate<H: JournalHarness>() {
    let harness = H::fresh().await;
    let journal = harness.journal();
    let Some(log) = journal.spending() else {
        return;
    };
    let count = record("a", 5);
    let estimate = SpendingRecord {
        usage: Usage::estimate(7, 7),
        ..record("a", 1)
    };
    let last = SpendingRecord {
        usage: Usage {
            input: 9,
            ..Usage::default()
        },
        ..estimate.clone()
    };
    let mut are_new = Vec::new();
    for one in [&estimate, &estimate, &count, &estimate, &last] {
        are_new.push(log.record(one).await.expect("recorded"));
    }
    assert_eq!(are_new, [true, false, false, false, false]);
    let counted = SpendingRecord {
        at: estimate.at,
        ..count
    };
    assert_eq!(all(log).await, [counted]);
}

pub(super) async fn spending_records_are_ordered_by_time_and_id<H: JournalHarness>() {
    let harness = H::fresh().await;
    let journal = harness.journal();
    let Some(log) = journal.spending() else {
        return;
    };
    let places = [
        ("c", 1),
        ("é", 1),
        ("a", 2),
        ("B", 1),
        ("b", 1),
        ("z", -1),
        ("bb", 1),
    ];
    for (id, seconds) in places {
        log.record(&record(id, seconds)).await.expect("recorded");
    }
    let ids: Vec<Arc<str>> = all(log).await.into_iter().map(|one| one.id).collect();
    let ids: Vec<&str> = ids.iter().map(|id| &**id).collect();
    assert_eq!(ids, ["z", "B", "b", "bb", "c", "é", "a"]);
}

pub(super) async fn pages_of_spending_records_have_each_once<H: JournalHarness>() {
    for limit in [1, 2, 3] {
        let harness = H::fresh().await;
        let journal = harness.journal();
        let Some(log) = journal.spending() else {
            return;
        };
        // Several are of the same time.
        let there: Vec<_> = (0..7)
            .map(|nth| record(&format!("m{nth}"), nth / 3))
            .collect();
        for record in &there {
            log.record(record).await.expect("recorded");
        }
        let mut query = SpendingQuery {
            limit,
            ..SpendingQuery::default()
        };
        let mut read = Vec::new();
        for nth in 0..20 {
            let page = log.records(&query).await.expect("a page");
            let count = page.records.len() + page.unreadable.len();
            assert!(count <= limit, "more than {limit}: {page:?}");
            read.extend(page.records);
            query.after = page.next;
            if query.after.is_none() {
                break;
            }
            // Before what was read, and after it.
            let added = [
                record(&format!("a{nth}"), -nth),
                record(&format!("z{nth}"), 0),
            ];
            for record in added.iter().filter(|_| nth < 3) {
                log.record(record).await.expect("recorded");
            }
        }
        assert_eq!(query.after, None, "there is no end");
        assert_each_once(&read, &there);
    }
}

pub(super) async fn spending_records_begin_at_a_time<H: JournalHarness>() {
    let harness = H::fresh().await;
    let journal = harness.journal();
    let Some(log) = journal.spending() else {
        return;
    };
    let records: Vec<_> = (0..6)
        .map(|nth| record(&nth.to_string(), nth / 2))
        .collect();
    for record in &records {
        log.record(record).await.expect("recorded");
    }
    let since = |seconds| SpendingQuery {
        since: Some(at(seconds)),
        ..every()
    };
    for (seconds, skipped) in [(-1, 0), (0, 0), (1, 2), (2, 4), (3, 6)] {
        assert_eq!(read(log, since(seconds)).await, records[skipped..]);
    }
    // A place counts beside the time: the later one of both.
    let place: SpendingPlace = (at(1), "2".into());
    for (seconds, skipped) in [(0, 3), (1, 3), (2, 4)] {
        let query = SpendingQuery {
            after: Some(place.clone()),
            ..since(seconds)
        };
        assert_eq!(read(log, query).await, records[skipped..]);
    }
}

pub(super) async fn a_restart_keeps_spending_records<H: JournalHarness>() {
    let harness = H::fresh().await;
    let journal = harness.journal();
    let Some(log) = journal.spending() else {
        return;
    };
    let records = [record("a", 0), record("b", 1)];
    for record in &records {
        log.record(record).await.expect("recorded");
    }
    let reopened: Arc<dyn Journal> = harness.reopened().await;
    let log = reopened.spending().expect("the same log");
    assert_eq!(all(log).await, records);
    log.record(&records[0]).await.expect("an id that is there");
    assert_eq!(all(log).await, records);
}

pub(super) async fn old_spending_records_are_deleted<H: JournalHarness>() {
    let harness = H::fresh().await;
    let journal = harness.journal();
    let Some(log) = journal.spending() else {
        return;
    };
    let records: Vec<_> = (0..6)
        .map(|nth| record(&nth.to_string(), nth / 2))
        .collect();
    // The order of arrival is no matter.
    for record in records.iter().rev() {
        log.record(record).await.expect("recorded");
    }
    for (before, limit, deleted, left) in [
        (0, 10, 0, 0),
        (1, 10, 2, 2),
        (1, 10, 0, 2),
        (3, 1, 1, 3),
        (3, 0, 0, 3),
        (2, 10, 1, 4),
    ] {
        let count = log.delete_before(at(before), limit).await;
        assert_eq!(count.expect("deleted"), deleted, "before {before}");
        assert_eq!(all(log).await, records[left..], "before {before}");
    }
    let reopened = harness.reopened().await;
    let log = reopened.spending().expect("the same log");
    assert_eq!(all(log).await, records[4..]);
    log.record(&records[0]).await.expect("its id is free");
    assert_eq!(all(log).await.len(), 3);
}

/// Checks that all of these records were read, each once.
fn assert_each_once(read: &[SpendingRecord], expected: &[SpendingRecord]) {
    for (nth, record) in read.iter().enumerate() {
        let earlier = read.iter().take(nth);
        let is_repeated = earlier.clone().any(|earlier| earlier.id == record.id);
        assert!(!is_repeated, "{} is there twice", record.id);
    }
    for record in expected {
        assert!(read.contains(record), "{} is missing", record.id);
    }
}

async fn all(log: &dyn SpendingLog) -> Vec<SpendingRecord> {
    read(log, every()).await
}

async fn read(log: &dyn SpendingLog, query: SpendingQuery) -> Vec<SpendingRecord> {
    let page = log.records(&query).await.expect("a page");
    assert_eq!((page.next, page.unreadable), (None, vec![]));
    page.records
}

const fn every() -> SpendingQuery {
    SpendingQuery {
        after: None,
        limit: 1000,
        since: None,
    }
}

/// A record of this id, so many seconds after the start.
fn record(id: &str, seconds: i64) -> SpendingRecord {
    spending::record(id, at(seconds))
}

const fn at(seconds: i64) -> WallTime {
    WallTime::from_millis(START.as_millis() + seconds * 1000)
}

/// Records with every field, of different ids; deterministic.
fn generated() -> Vec<SpendingRecord> {
    let mut runner = TestRunner::deterministic();
    let strategy = arb::spending_record();
    let records = (0..60).map(|nth| {
        let record = strategy.new_tree(&mut runner).expect("a record").current();
        SpendingRecord {
            id: format!("{nth} {}", record.id).into(),
            ..record
        }
    });
    records.collect()
}

fn sorted(mut records: Vec<SpendingRecord>) -> Vec<SpendingRecord> {
    records.sort_by(|one, other| (one.at, &one.id).cmp(&(other.at, &other.id)));
    records
}
