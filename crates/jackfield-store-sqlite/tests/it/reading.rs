//! A journal that is opened to be read: it says what is there, refuses the rest, and changes nothing.

use jackfield_ports::journal::sessions::SessionQuery;
use jackfield_ports::journal::{AppendRefusal, Appended, Journal as _, JournalError};
use jackfield_store_sqlite::{OpenError, ReadOnlyJournal};
use rusqlite::Connection;

use crate::harness::{Place, append, cancel, delivery, session};

#[tokio::test]
async fn what_is_there_is_read_and_what_would_write_is_refused() {
    let place = Place::new();
    let (journal, s) = (place.open(), session("s"));
    let epoch = journal.own(&s).await.expect("a lease").epoch;
    let committed = journal.append(&append(&s, epoch, 0)).await;
    assert!(matches!(committed, Appended::Committed), "{committed:?}");
    let all = SessionQuery {
        limit: 10,
        ..SessionQuery::default()
    };
    let reading = ReadOnlyJournal::open(place.file()).expect("a journal");
    let rows = reading.sessions(&all).await.expect("a list");
    assert_eq!(rows, journal.sessions(&all).await.expect("a list"));
    assert!(rows[0].owned, "its owner lives: {rows:?}");
    let loaded = journal.load(&s).await.expect("a session");
    assert_eq!(reading.load(&s).await.expect("a session"), loaded);
    assert_eq!(reading.follow(&s, 0).await.expect("steps"), loaded.steps);
    journal.close().await;
    let rows = reading.sessions(&all).await.expect("a list");
    assert!(!rows[0].owned, "its owner is gone: {rows:?}");
    reading.close().await;

    let before = std::fs::read(place.file()).expect("a file");
    let reading = ReadOnlyJournal::open(place.file()).expect("a journal");
    let refused = |error: JournalError| {
        let JournalError::Unreachable { source } = error else {
            panic!("{error:?}");
        };
        assert!(source.to_string().contains("cannot be written"), "{source}");
    };
    refused(reading.own(&s).await.expect_err("it may only be read"));
    refused(reading.delete(&s).await.expect_err("it may only be read"));
    let delivered = reading.deliver(&s, delivery("d"), "me".into(), cancel(&s));
    refused(delivered.await.expect_err("it may only be read"));
    let appended = reading.append(&append(&s, epoch, 1)).await;
    let lasts = Appended::Refused(AppendRefusal::Unwritable { why: "".into() });
    assert_eq!(
        std::mem::discriminant(&appended),
        std::mem::discriminant(&lasts),
        "{appended:?}"
    );
    let missing = reading.load(&session("none")).await;
    assert!(
        matches!(missing, Err(JournalError::UnknownSession { .. })),
        "{missing:?}"
    );
    reading.close().await;
    assert_eq!(std::fs::read(place.file()).expect("a file"), before);
}

#[tokio::test]
async fn a_file_of_the_form_before_is_read_without_its_spending_records() {
    let place = Place::new();
    let (journal, s) = (place.open(), session("s"));
    let epoch = journal.own(&s).await.expect("a lease").epoch;
    let committed = journal.append(&append(&s, epoch, 0)).await;
    assert!(matches!(committed, Appended::Committed), "{committed:?}");
    let loaded = journal.load(&s).await.expect("a session");
    journal.close().await;
    let reading = ReadOnlyJournal::open(place.file()).expect("a journal");
    assert!(reading.spending().is_some());
    reading.close().await;
    let file = Connection::open(place.file()).expect("a database");
    let older = "DROP TABLE upstream_responses; DROP TABLE logins; DROP TABLE meters; DROP TABLE key_secrets; DROP TABLE sealed_secrets; DROP TABLE directory; DROP TABLE titles; ALTER TABLE sessions DROP COLUMN pinned; ALTER TABLE sessions DROP COLUMN archived; DROP TABLE spending; PRAGMA user_version = 5";
    file.execute_batch(older).expect("an older form");
    drop(file);
    let reading = ReadOnlyJournal::open(place.file()).expect("a journal");
    assert_eq!(reading.load(&s).await.expect("a session"), loaded);
    assert!(reading.spending().is_none());
    reading.close().await;
    let file = Connection::open(place.file()).expect("a database");
    let older = "PRAGMA user_version = 4";
    file.execute_batch(older).expect("an older form");
    drop(file);
    let refused = ReadOnlyJournal::open(place.file());
    assert!(
        matches!(refused, Err(OpenError::NotRead { .. })),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_file_that_is_not_there_and_one_of_another_program_are_told() {
    let place = Place::new();
    let missing = ReadOnlyJournal::open(place.file());
    assert!(matches!(missing, Err(OpenError::Io { .. })), "{missing:?}");
    assert!(!place.file().exists());
    std::fs::create_dir_all(place.file().parent().expect("a folder")).expect("a folder");
    let other = Connection::open(place.file()).expect("a database");
    other
        .execute_batch("CREATE TABLE recipes (name TEXT)")
        .expect("a table");
    drop(other);
    let refused = ReadOnlyJournal::open(place.file());
    assert!(
        matches!(refused, Err(OpenError::NotOurs { .. })),
        "{refused:?}"
    );
}
