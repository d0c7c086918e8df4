//! Writing: together where that is possible, whole in any case.

use std::sync::Arc;
use std::time::Duration;

use jackfield_ports::journal::{Appended, Journal as _};
use jackfield_store_sqlite::SqliteJournal;
use rusqlite::Connection;

use crate::harness::{Place, append, session};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn turns_side_by_side_lose_nothing() {
    let place = Place::new();
    let journal = Arc::new(place.open());
    let mut turns = tokio::task::JoinSet::new();
    for nth in 0..32 {
        let journal = Arc::clone(&journal);
        turns.spawn(async move {
            let s = session(&format!("s{nth}"));
            let epoch = journal.own(&s).await.expect("a lease").epoch;
            for position in 0..20 {
                assert!(matches!(
                    journal.append(&append(&s, epoch, position)).await,
                    Appended::Committed
                ));
            }
            s
        });
    }
    let sessions = turns.join_all().await;
    // As the next process finds it.
    journal.close().await;
    let journal = place.open();
    for s in sessions {
        assert_eq!(journal.load(&s).await.expect("the session").steps.len(), 20);
    }
}

#[tokio::test]
async fn a_file_that_another_process_holds_is_waited_for_once_and_not_by_each() {
    let place = Place::new();
    let mut options = place.options();
    options.busy_timeout = Duration::from_millis(100);
    let journal = SqliteJournal::open(place.file(), options).expect("a journal");
    let s = session("s");
    let epoch = journal.own(&s).await.expect("a lease").epoch;
    let other = Connection::open(place.file()).expect("a database");
    other.execute_batch("BEGIN IMMEDIATE").expect("it is held");
    let append = append(&s, epoch, 0);
    let journal = Arc::new(journal);
    let mut appends = tokio::task::JoinSet::new();
    for _ in 0..200 {
        let (journal, append) = (Arc::clone(&journal), append.clone());
        appends.spawn(async move { journal.append(&append).await });
    }
    let waiting = tokio::time::timeout(Duration::from_secs(10), appends.join_all());
    // One after the other they would wait for twenty seconds.
    for answer in waiting.await.expect("all are answered") {
        // It may be free the next time, and nothing was written.
        match answer {
            Appended::Unknown(why) => assert!(why.to_string().contains("held"), "{why}"),
            Appended::Committed | Appended::Refused(_) => panic!("{answer:?}"),
        }
    }
    other.execute_batch("ROLLBACK").expect("it is free");
    assert!(matches!(journal.append(&append).await, Appended::Committed));
}
