//! What users of other engines on PostgreSQL reported: work that no process continues, and work that is done twice.

use std::time::{Duration, Instant};

use jackfield_domain::ids::SessionId;
use jackfield_domain::time::WallTime;
use jackfield_ports::journal::{AppendRefusal, Appended, Epoch, Journal as _, JournalError};
use jackfield_store_postgres::PostgresJournal;
use jackfield_testkit::contract::journal::START;

use crate::harness::{Place, append, session};

/// A process that ends in order while others run gives up its own work alone, and at once.
#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_drains_strands_nothing_and_takes_nothing_of_others_along() {
    let place = Place::new();
    let (drained, other, third) = (place.open(), place.open(), place.open());
    let (its, others) = (session("its"), session("others"));
    drained.own(&its).await.expect("a lease");
    other.own(&others).await.expect("a lease");
    let began = Instant::now();
    drained.close().await;
    third.own(&its).await.expect("free at once");
    assert!(
        began.elapsed() < Duration::from_secs(5),
        "{:?}",
        began.elapsed()
    );
    let refused = third.own(&others).await.expect_err("it is owned");
    assert!(matches!(refused, JournalError::Owned { .. }), "{refused}");
    other.close().await;
    third.close().await;
}

/// Two processes that have read the same list of what is to be recovered: one of them recovers it.
#[tokio::test(flavor = "multi_thread")]
async fn a_stale_list_of_due_sessions_lets_nothing_run_twice() {
    let place = Place::new();
    let (one, other) = (place.open(), place.open());
    let id = session("s");
    let epoch = one.own(&id).await.expect("a lease").epoch;
    leave_due(&place, &one, &id, epoch).await;
    one.release(&id, epoch).await.expect("released");
    let now = WallTime::from_millis(START.as_millis() + 1000);
    let (first, second) = (one.due(now, 9), other.due(now, 9));
    let (first, second) = (first.await.expect("a list"), second.await.expect("a list"));
    assert_eq!(first.sessions, second.sessions);
    assert_eq!(first.sessions, std::slice::from_ref(&id));
    let (one_owns, other_owns) = tokio::join!(one.own(&id), other.own(&id));
    let epochs: Vec<_> = [&one_owns, &other_owns].into_iter().flatten().collect();
    assert_eq!(epochs.len(), 1, "{one_owns:?} {other_owns:?}");
    // The one that comes later finds what the first has written.
    let (winner, loser) = if one_owns.is_ok() {
        (&one, &other)
    } else {
        (&other, &one)
    };
    let epoch = epochs[0].epoch;
    let appended = winner.append(&append(&id, epoch, 1)).await;
    assert!(matches!(appended, Appended::Committed), "{appended:?}");
    winner.release(&id, epoch).await.expect("released");
    let later = loser.own(&id).await.expect("a lease").epoch;
    let stale = loser.append(&append(&id, later, 1)).await;
    let is_refused = matches!(stale, Appended::Refused(AppendRefusal::Position));
    assert!(is_refused, "{stale:?}");
    one.close().await;
    other.close().await;
}

/// A process that dies between two steps, while it waits for nothing and nothing runs.
#[tokio::test(flavor = "multi_thread")]
async fn a_turn_whose_owner_dies_between_two_steps_is_due_for_others() {
    let place = Place::new();
    let mut options = place.options();
    options.lease = Duration::from_secs(2);
    let open = || PostgresJournal::open(place.address.clone(), options.clone()).expect("a journal");
    let (dead, other) = (open(), open());
    let id = session("s");
    let epoch = dead.own(&id).await.expect("a lease").epoch;
    leave_due(&place, &dead, &id, epoch).await;
    let now = WallTime::from_millis(START.as_millis() + 1000);
    assert_eq!(other.due(now, 9).await.expect("a list").sessions, []);
    // It ends without a word: nothing renews its lease.
    place.sql("UPDATE @.processes SET alive_until = now() - interval '1 second'");
    let began = Instant::now();
    while other.due(now, 9).await.expect("a list").sessions != std::slice::from_ref(&id) {
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "nobody goes on with it"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    other.own(&id).await.expect("a lease");
    dead.close().await;
    other.close().await;
}

/// Writes a step, after which there is something to do.
async fn leave_due(place: &Place, journal: &PostgresJournal, id: &SessionId, epoch: Epoch) {
    let appended = journal.append(&append(id, epoch, 0)).await;
    assert!(matches!(appended, Appended::Committed), "{appended:?}");
    place.sql(&format!("UPDATE @.sessions SET due = 1 WHERE id = '{id}'"));
}
