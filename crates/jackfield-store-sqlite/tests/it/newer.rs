//! What a newer build wrote: listed, and left alone.

use jackfield_domain::ids::SessionId;
use jackfield_domain::time::WallTime;
use jackfield_ports::journal::sessions::{SessionQuery, SessionRow};
use jackfield_ports::journal::{Appended, Journal as _, JournalError};
use jackfield_store_sqlite::SqliteJournal;
use rusqlite::{Connection, params};

use crate::harness::{Place, append, cancel, delivery, session};

/// A file with one session of one step, which nobody owns.
async fn written(place: &Place) -> SessionId {
    let journal = place.open();
    let s = session("s");
    let epoch = journal.own(&s).await.expect("a lease").epoch;
    let appended = journal.append(&append(&s, epoch, 0)).await;
    assert!(matches!(appended, Appended::Committed), "{appended:?}");
    journal.close().await;
    s
}

async fn row(journal: &SqliteJournal) -> SessionRow {
    let query = SessionQuery {
        limit: 9,
        ..SessionQuery::default()
    };
    let mut rows = journal.sessions(&query).await.expect("a list");
    assert_eq!(rows.len(), 1);
    rows.remove(0)
}

fn epoch(place: &Place) -> i64 {
    let file = Connection::open(place.file()).expect("a database");
    file.query_row("SELECT epoch FROM sessions", (), |row| row.get(0))
        .expect("an epoch")
}

/// Adds a record to the session, as another program does it.
fn add(place: &Place, record: &str) {
    let file = Connection::open(place.file()).expect("a database");
    file.execute(
        "INSERT INTO steps (number, previous, session, position, epoch, record)
         VALUES (2, 1, 1, 1, 1, ?1)",
        params![record.as_bytes()],
    )
    .expect("a step");
    file.execute("UPDATE sessions SET steps = 2, last = 2, due = 0", ())
        .expect("a session");
}

#[tokio::test]
async fn a_record_that_only_a_newer_build_knows_is_listed_and_never_owned() {
    let known = String::from_utf8(
        jackfield_record::encode_envelope(&crate::harness::step(1)).expect("a record"),
    )
    .expect("text");
    let cases = [
        (
            known.replace("turn_resumed", "turn_polished"),
            "turn_polished",
        ),
        (known.replace("\"v\":1", "\"v\":2"), "version 2"),
    ];
    for (record, told) in cases {
        let place = Place::new();
        let s = written(&place).await;
        add(&place, &record);
        let before = epoch(&place);
        let journal = place.open();
        let row = row(&journal).await;
        let why = row.unreadable.expect("a reason");
        assert!(why.contains(told), "{why}");
        for _ in 0..2 {
            let refused = journal.own(&s).await;
            let newer =
                matches!(&refused, Err(JournalError::Newer { session, .. }) if *session == s);
            assert!(newer, "{refused:?}");
        }
        let loaded = journal.load(&s).await;
        assert!(
            matches!(loaded, Err(JournalError::Newer { .. })),
            "{loaded:?}"
        );
        let due = journal.due(WallTime::from_millis(i64::MAX), 9).await;
        assert_eq!(due.expect("a list").sessions, []);
        journal.close().await;
        assert_eq!(epoch(&place), before);
    }
}

#[tokio::test]
async fn a_row_that_a_newer_build_wrote_is_enough_to_leave_its_session_alone() {
    let place = Place::new();
    let s = written(&place).await;
    let file = Connection::open(place.file()).expect("a database");
    file.execute("UPDATE sessions SET vocabulary = 99, due = 0", ())
        .expect("a session");
    let before = epoch(&place);
    let journal = place.open();
    let why = row(&journal).await.unreadable.expect("a reason");
    assert!(why.contains("newer"), "{why}");
    let newer = |error: JournalError| matches!(error, JournalError::Newer { .. });
    assert!(journal.own(&s).await.is_err_and(newer));
    assert!(journal.load(&s).await.is_err_and(newer));
    assert!(journal.follow(&s, 0).await.is_err_and(newer));
    let delivered = journal.deliver(&s, delivery("d"), "somebody".into(), cancel(&s));
    assert!(delivered.await.is_err_and(newer));
    let due = journal.due(WallTime::from_millis(i64::MAX), 9).await;
    assert_eq!(due.expect("a list").sessions, []);
    assert_eq!(epoch(&place), before);
    // A person may still want it gone.
    journal.delete(&s).await.expect("deleted");
}

#[tokio::test]
async fn steps_that_another_program_wrote_and_that_are_known_are_taken_up() {
    let place = Place::new();
    let s = written(&place).await;
    let known = jackfield_record::encode_envelope(&crate::harness::step(1)).expect("a record");
    add(&place, &String::from_utf8(known).expect("text"));
    let journal = place.open();
    assert_eq!(row(&journal).await.unreadable, None);
    let bytes = row(&journal).await.bytes;
    let epoch = journal.own(&s).await.expect("a lease").epoch;
    assert!(row(&journal).await.bytes > bytes);
    let appended = journal.append(&append(&s, epoch, 2)).await;
    assert!(matches!(appended, Appended::Committed), "{appended:?}");
}
