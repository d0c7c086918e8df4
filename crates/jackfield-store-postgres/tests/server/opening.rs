//! Opening a database: with others at once, with another form, and as users of few rights.

use std::time::{Duration, Instant};

use jackfield_ports::journal::sessions::{LabelChange, SessionQuery};
use jackfield_ports::journal::{Journal as _, JournalError};
use jackfield_store_postgres::{OpenError, PostgresJournal};

use crate::harness::{Place, SERVER, address, append, session};

#[test]
fn many_processes_make_the_tables_at_once() {
    let place = Place::new();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| place.open());
        }
    });
    assert_eq!(
        place.sql("SELECT count(*), max(form) FROM @.journal"),
        "1|5"
    );
}

#[test]
fn tables_of_a_newer_version_are_left_alone() {
    let place = Place::new();
    drop(place.open());
    place.sql("UPDATE @.journal SET form = 99");
    let error = PostgresJournal::open(place.address.clone(), place.options());
    let error = error.expect_err("a newer form");
    let newer = matches!(
        error,
        OpenError::Newer {
            found: 99,
            known: 5,
            ..
        }
    );
    assert!(newer, "{error}");
    assert_eq!(place.sql("SELECT form FROM @.journal"), "99");
}

#[test]
fn tables_of_an_older_form_are_brought_up_to_date() {
    let place = Place::new();
    place.sql("CREATE SCHEMA @; CREATE TABLE @.journal (one boolean PRIMARY KEY DEFAULT true, form integer NOT NULL)");
    place.sql("INSERT INTO @.journal (form) VALUES (0)");
    drop(place.open());
    assert_eq!(place.sql("SELECT form FROM @.journal"), "5");
}

#[test]
fn a_wrong_password_is_told_without_it() {
    let url = SERVER.url("locked:wrong-secret", "postgres");
    let error = PostgresJournal::open(address(&url), Place::new().options());
    let error = error.expect_err("no access").to_string();
    assert!(error.contains("locked@"), "{error}");
    assert!(error.contains("password authentication failed"), "{error}");
    assert!(!error.contains("wrong-secret"), "{error}");
}

#[test]
fn a_database_that_is_not_there_is_named() {
    let url = SERVER.url("postgres", "nowhere");
    let error = PostgresJournal::open(address(&url), Place::new().options());
    let error = error.expect_err("no database").to_string();
    assert!(
        error.contains("database \"nowhere\" does not exist"),
        "{error}"
    );
}

#[test]
fn a_user_who_may_make_no_schema_can_be_given_one() {
    let place = Place::new();
    let url = SERVER.url("locked:secret", "postgres");
    let open = || PostgresJournal::open(address(&url), place.options());
    let error = open().expect_err("no right");
    assert!(matches!(error, OpenError::NotPrepared { .. }), "{error}");
    place.sql("CREATE SCHEMA @ AUTHORIZATION locked");
    drop(open().expect("a journal"));
}

#[test]
fn the_name_of_a_schema_is_not_part_of_statements() {
    let place = Place::new();
    for name in ["", "a b", "a\"b", "Chats", "1st", "a;drop", &"a".repeat(64)] {
        let mut options = place.options();
        name.clone_into(&mut options.schema);
        let error = PostgresJournal::open(place.address.clone(), options);
        let error = error.expect_err(name);
        assert!(matches!(error, OpenError::Option(_)), "{error}");
    }
}

#[tokio::test]
async fn a_session_of_a_newer_version_is_listed_and_not_owned() {
    let place = Place::new();
    let journal = place.open();
    let id = session("s");
    let epoch = journal.own(&id).await.expect("a lease").epoch;
    journal.append(&append(&id, epoch, 0)).await;
    journal.release(&id, epoch).await.expect("released");
    place.sql("UPDATE @.sessions SET vocabulary = 999");
    let query = SessionQuery {
        limit: 9,
        ..SessionQuery::default()
    };
    let rows = journal.sessions(&query).await.expect("a list");
    let why = rows[0].unreadable.as_deref().unwrap_or_default();
    assert!(why.contains("a newer version"), "{rows:?}");
    for outcome in [
        journal.own(&id).await.err(),
        journal.load(&id).await.err(),
        journal
            .label(&id, &LabelChange::of_title("a title"))
            .await
            .err(),
    ] {
        let is_newer = matches!(outcome, Some(JournalError::Newer { .. }));
        assert!(is_newer, "{outcome:?}");
    }
    journal.close().await;
}

/// Of a chat that died, of one that lost its lease, and of a hold that was dropped while it was written.
#[tokio::test]
async fn rows_of_holds_go_when_nobody_holds_any_more() {
    let place = Place::new();
    let mut options = place.options();
    options.lease = Duration::from_secs(1);
    let journal = PostgresJournal::open(place.address.clone(), options).expect("a journal");
    place.sql(
        "INSERT INTO @.processes VALUES ('dead', clock_timestamp() - interval '1 hour');
         INSERT INTO @.holds VALUES ('dead', 1, 'abandoned')",
    );
    let _hold = journal.hold(&session("held")).await.expect("a hold");
    let name = place.sql("SELECT process FROM @.holds WHERE session = 'held'");
    place.sql(&format!(
        "INSERT INTO @.holds VALUES ('{name}', 0, 'forgotten')"
    ));
    let rows = "SELECT string_agg(session, ' ') FROM @.holds";
    until(&place, rows, "held").await;
    // It holds on under another name.
    place.sql("UPDATE @.processes SET alive_until = clock_timestamp()");
    until(
        &place,
        &format!("SELECT count(*) FROM @.processes WHERE name <> '{name}'"),
        "1",
    )
    .await;
    until(&place, "SELECT count(*) FROM @.processes", "1").await;
    until(&place, rows, "held").await;
    journal.close().await;
    until(&place, "SELECT count(*) FROM @.holds", "0").await;
}

/// Asks until this is the answer.
async fn until(place: &Place, question: &str, expected: &str) {
    let began = Instant::now();
    loop {
        let found = place.sql(question);
        if found == expected {
            return;
        }
        assert!(began.elapsed() < LIMIT, "{question}: {found}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

const LIMIT: Duration = Duration::from_secs(60);

/// A chat holds its session before anything else is asked for.
#[tokio::test]
async fn a_hold_may_be_the_first_request() {
    let place = Place::new();
    let (journal, other) = (place.open(), place.open());
    let id = session("held");
    let hold = journal.hold(&id).await.expect("a hold");
    let epoch = journal.own(&id).await.expect("an owner").epoch;
    journal.release(&id, epoch).await.expect("released");
    let refused = other.delete(&id).await.expect_err("it is held");
    assert!(matches!(refused, JournalError::Held { .. }), "{refused}");
    drop(hold);
}
