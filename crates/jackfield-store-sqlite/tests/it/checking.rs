//! Looking over a whole file.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use jackfield_ports::journal::admin::{CheckProgress, CheckReport, JournalAdmin as _};
use jackfield_ports::journal::{Appended, Journal as _};
use jackfield_store_sqlite::SqliteJournal;
use rusqlite::Connection;

use crate::harness::{Place, append, cancel, delivery, session};

/// A file with three sessions of two steps and a delivery each.
async fn filled(place: &Place) {
    let journal = place.open();
    for name in ["a", "b", "c"] {
        let s = session(name);
        let epoch = journal.own(&s).await.expect("a lease").epoch;
        for position in 0..2 {
            let appended = journal.append(&append(&s, epoch, position)).await;
            assert!(matches!(appended, Appended::Committed), "{appended:?}");
        }
        let delivered = journal.deliver(&s, delivery("d"), "somebody".into(), cancel(&s));
        delivered.await.expect("an answer");
    }
    journal.close().await;
}

async fn check(journal: &SqliteJournal) -> CheckReport {
    let checked = journal
        .check(Duration::from_secs(60), Box::new(|_| {}))
        .await;
    checked.expect("a look")
}

/// What is found after this was done to the file.
async fn found_after(damage: &str) -> CheckReport {
    let place = Place::new();
    filled(&place).await;
    let file = Connection::open(place.file()).expect("a database");
    file.execute_batch(damage).expect("damage");
    drop(file);
    check(&place.open()).await
}

#[tokio::test]
async fn closing_waits_for_a_read_under_way_and_leaves_one_file() {
    let place = Place::new();
    filled(&place).await;
    let journal = Arc::new(place.open());
    let (reached, at_read) = tokio::sync::oneshot::channel();
    let (release, released) = std::sync::mpsc::channel::<()>();
    let mut reached = Some(reached);
    let progress = move |_: CheckProgress| {
        if let Some(reached) = reached.take() {
            reached.send(()).expect("the test waits");
            released.recv().expect("the test releases it");
        }
    };
    let reading = tokio::spawn({
        let journal = Arc::clone(&journal);
        async move {
            let check = journal.check(Duration::from_secs(60), Box::new(progress));
            check.await
        }
    });
    at_read.await.expect("the read is under way");
    // Its requester gives it up.
    reading.abort();
    let closing = tokio::spawn({
        let journal = Arc::clone(&journal);
        async move { journal.close().await }
    });
    // The writer is closed before the reads are waited for.
    let s = session("a");
    while journal.own(&s).await.is_ok() {
        tokio::task::yield_now().await;
    }
    release.send(()).expect("the read waits");
    closing.await.expect("no panic");
    let log = place.file().with_extension("db-wal");
    assert!(!log.exists(), "all of it is in one file");
}

#[tokio::test]
async fn a_sound_file_is_looked_over_to_its_end() {
    let place = Place::new();
    filled(&place).await;
    let journal = place.open();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let see = Arc::clone(&seen);
    let progress =
        move |now: CheckProgress| see.lock().expect("no panic").push((now.done, now.total));
    let checked = journal
        .check(Duration::from_secs(60), Box::new(progress))
        .await;
    let checked = checked.expect("a look");
    assert_eq!((checked.damage, checked.newer), (vec![], vec![]));
    assert_eq!((checked.sessions, checked.steps), (3, 6));
    assert!(checked.is_complete);
    let seen = seen.lock().expect("no panic").clone();
    assert_eq!(seen, [(0, 3), (1, 3), (2, 3), (3, 3)]);
}

#[tokio::test]
async fn what_is_wrong_is_told_with_its_session_and_the_rest_is_looked_at() {
    let cases = [
        (
            "UPDATE steps SET record = x'7b7d' WHERE session = 2 AND position = 1",
            "session b: the record is malformed",
        ),
        (
            "UPDATE deliveries SET record = x'00' WHERE session = 2",
            "session b: the record is malformed",
        ),
        (
            "DELETE FROM steps WHERE session = 2 AND position = 1",
            "session b: some of its steps",
        ),
        (
            "UPDATE sessions SET title = 'another' WHERE id = 'b'",
            "session b: its row does not say",
        ),
        (
            "PRAGMA foreign_keys = off; DELETE FROM sessions WHERE id = 'b'",
            "the file: a row of `",
        ),
        (
            "PRAGMA foreign_keys = off; DELETE FROM deliveries; DELETE FROM sessions WHERE id = 'b'",
            "the file: a row of `steps`",
        ),
        (
            "INSERT INTO texts (number, session, text) VALUES (99, 2, 'text')",
            "the file: a row of `texts`",
        ),
        (
            "UPDATE steps SET previous = 0 WHERE session = 2",
            "session b: some of its steps",
        ),
        (
            "UPDATE sessions SET last = last - 1 WHERE id = 'b'",
            "session b: some of its steps",
        ),
        (
            "UPDATE sessions SET last = (SELECT last FROM sessions WHERE id = 'a') WHERE id = 'b'",
            "session b: some of its steps",
        ),
        (
            "UPDATE steps SET position = 7 WHERE session = 2 AND position = 1",
            "session b: some of its steps",
        ),
        (
            "UPDATE steps SET previous = number WHERE session = 2",
            "session b: some of its steps",
        ),
        (
            "INSERT INTO marks (session, place, turn) VALUES (2, zeroblob(32), 'turn')",
            "session b: it is not found by",
        ),
        (
            "UPDATE sessions SET loud = 0 WHERE id = 'b'",
            "session b: some of its steps",
        ),
        (
            "UPDATE sessions SET id = 'no id' WHERE id = 'b'",
            "the list of sessions: \"no id\"",
        ),
    ];
    for (damage, told) in cases {
        let checked = found_after(damage).await;
        let first = checked.damage.first().expect("damage");
        assert!(first.starts_with(told), "{damage}: {first}");
        assert!(checked.is_complete && checked.sessions >= 2, "{checked:?}");
    }
}

#[tokio::test]
async fn what_a_newer_version_wrote_is_not_wrong() {
    let checked = found_after("UPDATE sessions SET vocabulary = 99 WHERE id = 'b'").await;
    assert_eq!(
        (checked.damage, checked.newer),
        (vec![], vec![session("b")])
    );
}

#[tokio::test]
async fn a_look_ends_when_its_time_is_over() {
    let place = Place::new();
    filled(&place).await;
    let checked = place.open().check(Duration::ZERO, Box::new(|_| {})).await;
    let checked = checked.expect("a look");
    assert!(!checked.is_complete, "{checked:?}");
    assert_eq!(checked.damage, [""; 0]);
}
