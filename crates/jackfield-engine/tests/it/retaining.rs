//! Retention: what is at rest and old, or too much, goes; nothing else does.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::ids::SessionId;
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::policy::Policy;
use jackfield_domain::time::WallTime;
use jackfield_engine::{Engine, Retention, SendMessage, SpendingQuery};
use jackfield_ports::journal::Journal;
use jackfield_ports::journal::sessions::SessionQuery;
use jackfield_store_memory::MemoryJournal;

use crate::fixture::{Log, OneTool, Paused, Rounds, message, options};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A journal by the clock of its engine.
fn by_one_clock() -> (Arc<MemoryJournal>, Engine) {
    let clock = Arc::new(Paused::default());
    let now = Arc::clone(&clock);
    let journal = Arc::new(MemoryJournal::with_clock(move || now.wall()));
    let log = Log::default();
    let model = Rounds::once(&log, 1);
    let engine = Engine::builder(Arc::clone(&journal) as Arc<dyn Journal>)
        .clock(clock)
        .model("provider", Arc::new(model))
        .toolbox(Arc::new(OneTool::new(&log, |_| async {
            ToolResult::text("done")
        })))
        .build();
    (journal, engine)
}

fn named(name: &str) -> SessionId {
    SessionId::parse(name).expect("a valid id")
}

/// A turn in a session of this name, to its end, or until it waits for a person.
async fn turn(engine: &Engine, name: &str, can_ask: bool) {
    let mut options = options();
    if can_ask {
        options.policy = Policy {
            can_ask,
            rules: Vec::new(),
        };
    }
    let begun = engine.begin(SendMessage {
        session: named(name),
        ..message(options)
    });
    drop(begun.await.expect("it begins"));
    loop {
        let row = engine.session(&named(name)).await.expect("a list");
        let at_rest = row.is_some_and(|row| {
            let waits = row.open.is_some_and(|open| open.only_waits);
            !row.owned && row.turns > 0 && waits == can_ask
        });
        if at_rest {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// The names of what is there, the oldest first.
async fn left(engine: &Engine) -> Vec<String> {
    let every = SessionQuery {
        limit: usize::MAX,
        ..SessionQuery::default()
    };
    let rows = engine.sessions(&every).await.expect("a list");
    let names = rows.iter().rev().map(|row| row.session.to_string());
    names.collect()
}

fn older_than(age: Duration) -> Retention {
    Retention {
        older_than: Some(age),
        ..Retention::default()
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_old_goes_and_what_waits_or_is_owned_stays() {
    let (journal, engine) = by_one_clock();
    turn(&engine, "over", false).await;
    tokio::time::sleep(DAY / 4).await;
    turn(&engine, "waits", true).await;
    tokio::time::sleep(DAY / 4).await;
    turn(&engine, "owned", false).await;
    let _epoch = journal.own(&named("owned")).await.expect("a lease");
    tokio::time::sleep(DAY * 2).await;
    turn(&engine, "young", false).await;
    let would = engine.prune(older_than(DAY), usize::MAX, true).await;
    assert_eq!(would.expect("a list").deleted.len(), 1);
    assert_eq!(left(&engine).await.len(), 4);
    let pruned = engine.prune(older_than(DAY), usize::MAX, false).await;
    assert!(!pruned.expect("it is done").has_more);
    assert_eq!(left(&engine).await, ["waits", "owned", "young"]);
}

#[tokio::test(start_paused = true)]
async fn what_is_too_much_goes_from_the_oldest_on_and_spares_what_is_recent() {
    let (_, engine) = by_one_clock();
    for nth in 0..6 {
        turn(&engine, &format!("s{nth}"), false).await;
        tokio::time::sleep(DAY).await;
    }
    let every = SessionQuery {
        limit: 9,
        ..SessionQuery::default()
    };
    let rows = engine.sessions(&every);
    let two: u64 = rows.await.expect("a list")[..2]
        .iter()
        .map(|row| row.bytes)
        .sum();
    let retention = Retention {
        max_bytes: Some(two),
        ..Retention::default()
    };
    // A few at a time.
    let pruned = engine.prune(retention, 3, false).await.expect("it is done");
    assert_eq!((pruned.deleted.len(), pruned.has_more), (3, true));
    assert_eq!(left(&engine).await, ["s3", "s4", "s5"]);
    let pruned = engine.prune(retention, 3, false).await.expect("it is done");
    assert_eq!((pruned.deleted.len(), pruned.has_more), (1, false));
    assert_eq!(left(&engine).await, ["s4", "s5"]);
    let spares = Retention {
        max_bytes: Some(0),
        min_age: DAY + DAY / 2,
        ..Retention::default()
    };
    engine.prune(spares, 9, false).await.expect("it is done");
    assert_eq!(left(&engine).await, ["s5"]);
}

#[tokio::test(start_paused = true)]
async fn a_pruner_looks_at_once_and_then_again_until_it_is_dropped() {
    let (_, engine) = by_one_clock();
    for nth in 0..150 {
        turn(&engine, &format!("s{nth}"), false).await;
    }
    tokio::time::sleep(DAY * 2).await;
    turn(&engine, "later", false).await;
    let pruner = engine.spawn_pruner(older_than(DAY));
    tokio::time::sleep(Duration::from_millis(500)).await;
    // Some of them at first, the rest a moment later.
    assert_eq!(left(&engine).await.len(), 51);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(left(&engine).await, ["later"]);
    tokio::time::sleep(DAY + Duration::from_secs(2 * 60 * 60)).await;
    assert!(left(&engine).await.is_empty());
    turn(&engine, "last", false).await;
    drop(pruner);
    tokio::time::sleep(DAY * 2).await;
    assert_eq!(left(&engine).await, ["last"]);
}

#[tokio::test(start_paused = true)]
async fn old_spending_records_are_deleted_by_age() {
    let (_, engine) = by_one_clock();
    let log = engine.spending().expect("a log");
    let at = |days: i64| WallTime::from_millis(1_000_000 + days * 24 * 60 * 60 * 1000);
    for (id, days) in [("old", 0), ("young", 40)] {
        let record = jackfield_testkit::spending::record(id, at(days));
        log.record(&record).await.expect("recorded");
    }
    tokio::time::sleep(DAY * 40).await;
    let left = async || {
        let query = SpendingQuery {
            limit: 9,
            ..SpendingQuery::default()
        };
        let page = log.records(&query).await.expect("a page");
        let ids = page.records.iter().map(|record| record.id.to_string());
        ids.collect::<Vec<_>>()
    };
    let listed = engine.prune(older_than(DAY), 9, true).await;
    assert_eq!(listed.expect("listed").spending_records, 0);
    assert_eq!(left().await, ["old", "young"]);
    let pruned = engine.prune(older_than(DAY), 9, false).await;
    assert_eq!(pruned.expect("pruned").spending_records, 1);
    assert_eq!(left().await, ["young"]);
    // Budgets are sums over the records of a month, so those of this one stay.
    tokio::time::sleep(DAY * 3).await;
    let pruned = engine.prune(older_than(DAY), 9, false).await;
    assert_eq!(pruned.expect("pruned").spending_records, 0);
    assert_eq!(left().await, ["young"]);
}
