//! Files of older forms: brought up to date with everything in them, or not touched.

use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::fact::{Envelope, Fact};
use jackfield_domain::ids::{SessionId, ToolCallId, TurnId, WaitId};
use jackfield_domain::message::Message;
use jackfield_domain::setup::{Opening, Setup};
use jackfield_domain::time::WallTime;
use jackfield_domain::wait::{Delivery, Wait, WaitKind};
use jackfield_ports::journal::admin::JournalAdmin as _;
use jackfield_ports::journal::sessions::{SessionQuery, WaitQuery};
use jackfield_ports::journal::{Append, Appended, Epoch, Journal as _};
use jackfield_store_sqlite::{OpenError, SqliteJournal};
use jackfield_testkit::arb;
use jackfield_testkit::contract::journal::START;
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;
use rusqlite::{Connection, params};

use crate::harness::{Place, append, cancel, delivery, session, step};

/// The first form, as it was written.
const FORM_1: &str = "
PRAGMA journal_mode = wal;
PRAGMA application_id = 1246447172;
PRAGMA user_version = 1;
CREATE TABLE sessions (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    epoch INTEGER NOT NULL,
    owner TEXT,
    steps INTEGER NOT NULL DEFAULT 0,
    deliveries INTEGER NOT NULL DEFAULT 0,
    created INTEGER NOT NULL,
    changed INTEGER NOT NULL
) STRICT;
CREATE TABLE steps (
    session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
    position INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    record BLOB NOT NULL,
    UNIQUE (session, position)
) STRICT;
CREATE TABLE deliveries (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
    place INTEGER NOT NULL,
    id TEXT NOT NULL,
    record BLOB NOT NULL,
    UNIQUE (session, place),
    UNIQUE (session, id)
) STRICT;
CREATE TABLE waits (
    session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
    id TEXT NOT NULL,
    wait BLOB NOT NULL,
    deadline INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('open', 'answered', 'closed')),
    at INTEGER,
    by TEXT,
    how TEXT CHECK (how IN ('answered', 'cancelled', 'expired', 'superseded')),
    delivery TEXT,
    place INTEGER,
    UNIQUE (session, id)
) STRICT;
CREATE INDEX open_waits ON waits (deadline) WHERE state = 'open';
";

/// Leads a file of today back to the fourth form, as it was written.
pub(crate) const FORM_4_AGAIN: &str = "
PRAGMA foreign_keys = off;
DROP TABLE upstream_responses; DROP TABLE logins; DROP TABLE meters; DROP TABLE key_secrets; DROP TABLE sealed_secrets;
DROP TABLE directory;
DROP TABLE titles;
DROP TABLE spending;
CREATE TABLE sessions_4 (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    epoch INTEGER NOT NULL,
    owner TEXT,
    steps INTEGER NOT NULL DEFAULT 0,
    deliveries INTEGER NOT NULL DEFAULT 0,
    created INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    known INTEGER NOT NULL DEFAULT 0,
    vocabulary INTEGER NOT NULL DEFAULT 0,
    bytes INTEGER NOT NULL DEFAULT 0,
    seen INTEGER NOT NULL DEFAULT 0,
    title TEXT NOT NULL DEFAULT '',
    turns INTEGER NOT NULL DEFAULT 0,
    open TEXT,
    due INTEGER,
    principal TEXT,
    loud INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO sessions_4 SELECT number, id, epoch, owner, steps, deliveries, created, changed, known,
    vocabulary, bytes, seen, title, turns, open, due, principal, loud FROM sessions;
CREATE TABLE steps_4 (
    session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
    position INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    record BLOB NOT NULL,
    UNIQUE (session, position)
) STRICT;
INSERT INTO steps_4 SELECT session, position, epoch, record FROM steps ORDER BY number;
CREATE TABLE texts_4 (
    session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
    text TEXT NOT NULL
) STRICT;
INSERT INTO texts_4 SELECT session, text FROM texts ORDER BY number;
DROP TABLE texts;
ALTER TABLE texts_4 RENAME TO texts;
DROP TABLE steps;
ALTER TABLE steps_4 RENAME TO steps;
DROP TABLE sessions;
ALTER TABLE sessions_4 RENAME TO sessions;
CREATE INDEX due_sessions ON sessions (due) WHERE due IS NOT NULL;
CREATE INDEX texts_of_sessions ON texts (session);
PRAGMA user_version = 4;
";

/// Steps of a turn that is open and has a question.
fn steps() -> Vec<Envelope> {
    let mut runner = TestRunner::deterministic();
    let setup: Setup = arb::setup().new_tree(&mut runner).expect("one").current();
    let opened = Fact::TurnOpened {
        opening: Opening::UserMessage(Arc::new(Message::user("Где мои заметки?"))),
        ordinal: 1,
        setup: Arc::new(setup),
        turn: TurnId::derive(&session("s"), 1),
    };
    let mut first = step(0);
    first.facts = vec![opened];
    let mut second = step(1);
    second.facts = vec![Fact::WaitOpened { wait: wait() }];
    vec![first, second]
}

fn wait() -> Wait {
    Wait {
        call: ToolCallId::parse("call").expect("a valid id"),
        deadline: START,
        id: WaitId::parse("wait").expect("a valid id"),
        kind: WaitKind::ClientResult,
    }
}

/// A file as a build of the first form left it.
fn old_file(place: &Place) -> Vec<Envelope> {
    std::fs::create_dir_all(place.file().parent().expect("a folder")).expect("a folder");
    let file = Connection::open(place.file()).expect("a database");
    file.execute_batch(FORM_1).expect("the first form");
    let steps = steps();
    let at = START.as_millis();
    file.execute(
        "INSERT INTO sessions (id, epoch, owner, steps, deliveries, created, changed)
         VALUES ('s', 7, '1-2-3', 2, 1, ?1, ?1)",
        [at],
    )
    .expect("a session");
    for step in &steps {
        let record = jackfield_record::encode_envelope(step).expect("a record");
        let position = i64::try_from(step.step).expect("small");
        file.execute(
            "INSERT INTO steps (session, position, epoch, record) VALUES (1, ?1, 7, ?2)",
            params![position, record],
        )
        .expect("a step");
    }
    let delivery = Delivery {
        at: START,
        body: cancel(&session("s")),
        by: "somebody".into(),
        id: delivery("d"),
    };
    let record = jackfield_record::encode_delivery(&delivery).expect("a record");
    file.execute(
        "INSERT INTO deliveries (session, place, id, record) VALUES (1, 0, 'd', ?1)",
        [record],
    )
    .expect("a delivery");
    let record = jackfield_record::encode_wait(&wait()).expect("a record");
    file.execute(
        "INSERT INTO waits (session, id, wait, deadline, state) VALUES (1, 'wait', ?1, ?2, 'open')",
        params![record, at],
    )
    .expect("a wait");
    steps
}

#[tokio::test]
async fn a_file_of_the_first_form_keeps_everything_and_gets_what_is_new() {
    let place = Place::new();
    let steps = old_file(&place);
    let journal = place.open();
    let s = session("s");
    let loaded = journal.load(&s).await.expect("the session");
    assert_eq!(loaded.steps, steps);
    assert_eq!(loaded.deliveries.len(), 1);
    let query = SessionQuery {
        limit: 9,
        text: Some("ЗАМЕТКИ".to_owned()),
        ..SessionQuery::default()
    };
    let rows = journal.sessions(&query).await.expect("a list");
    let [row] = &*rows else { panic!("{rows:?}") };
    assert_eq!(
        (&*row.title, row.turns, row.steps),
        ("Где мои заметки?", 1, 2)
    );
    assert!(
        row.bytes > 100 && row.open.is_some() && !row.owned,
        "{row:?}"
    );
    let every = WaitQuery {
        limit: 9,
        ..WaitQuery::default()
    };
    let waits = journal.waits(&every).await.expect("a list");
    assert_eq!(waits.len(), 1);
    // Its owner is long dead, and what was delivered has not been seen.
    let due = journal.due(WallTime::from_millis(0), 9).await;
    assert_eq!(due.expect("a list").sessions, std::slice::from_ref(&s));
    let epoch = journal.own(&s).await.expect("a lease").epoch;
    assert_eq!(epoch.0, 8);
    let appended = journal.append(&append(&s, epoch, 2)).await;
    assert!(matches!(appended, Appended::Committed), "{appended:?}");
}

#[tokio::test]
async fn a_file_of_a_form_that_never_was_is_not_touched() {
    for form in [-1, 0] {
        let place = Place::new();
        old_file(&place);
        let file = Connection::open(place.file()).expect("a database");
        let mark = |form: i64| file.pragma_update(None, "user_version", form);
        mark(form).expect("a form");
        let refused = SqliteJournal::open(place.file(), place.options());
        assert!(
            matches!(refused, Err(OpenError::NotOurs { .. })),
            "{form}: {refused:?}"
        );
        mark(1).expect("the first form");
        place.open().close().await;
    }
}

/// Every table and index of a file, and what is in those that are not empty from the beginning.
fn made_of(place: &Place) -> Vec<(String, String)> {
    let file = Connection::open(place.file()).expect("a database");
    let mut objects = file
        .prepare("SELECT type || ' ' || name, coalesce(sql, '') FROM sqlite_schema")
        .expect("a schema");
    let objects = objects.query_map((), |row| {
        let (name, sql): (String, String) = (row.get(0)?, row.get(1)?);
        // One that was renamed has its name in quotes.
        let sql = sql.replace('"', "");
        let words: Vec<&str> = sql.split_whitespace().collect();
        Ok((name, words.join(" ")))
    });
    let objects = objects.expect("rows").map(|row| row.expect("a row"));
    let mut objects: Vec<_> = objects.collect();
    objects.sort();
    for number in [
        "PRAGMA user_version",
        "PRAGMA application_id",
        "SELECT group_concat(epoch) FROM past",
        "SELECT count(*) FROM sqlite_sequence",
        "SELECT count(*) FROM sqlite_schema",
    ] {
        let value: rusqlite::types::Value = file
            .query_row(number, (), |row| row.get(0))
            .expect("a value");
        objects.push((number.to_owned(), format!("{value:?}")));
    }
    objects
}

#[tokio::test]
async fn a_new_file_is_made_of_what_the_first_form_comes_to() {
    let (new, old) = (Place::new(), Place::new());
    std::fs::create_dir_all(old.file().parent().expect("a folder")).expect("a folder");
    let file = Connection::open(old.file()).expect("a database");
    file.execute_batch(FORM_1).expect("the first form");
    drop(file);
    new.open().close().await;
    old.open().close().await;
    let (new, old) = (made_of(&new), made_of(&old));
    assert!(new.len() > 20, "{new:?}");
    assert_eq!(new, old);
}

#[tokio::test]
async fn a_file_that_an_older_process_holds_is_not_touched() {
    let place = Place::new();
    old_file(&place);
    let mut lock = place.file().into_os_string();
    lock.push("-form");
    let held = File::create(lock).expect("a lock file");
    held.lock_shared().expect("a lock");
    let refused = SqliteJournal::open(place.file(), place.options());
    assert!(
        matches!(refused, Err(OpenError::InUse { .. })),
        "{refused:?}"
    );
    let file = Connection::open(place.file()).expect("a database");
    let form: i64 = file
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .expect("a form");
    assert_eq!(form, 1);
    held.unlock().expect("unlocked");
    place.open().close().await;
}

/// A turn with this question that goes on for two steps after it, one after another.
async fn begin(journal: &SqliteJournal, id: &str, question: &str) -> Epoch {
    let s = session(id);
    let epoch = journal.own(&s).await.expect("a lease").epoch;
    let mut first = append(&s, epoch, 0);
    let mut runner = TestRunner::deterministic();
    let setup: Setup = arb::setup().new_tree(&mut runner).expect("one").current();
    first.steps[0].facts = vec![Fact::TurnOpened {
        opening: Opening::UserMessage(Arc::new(Message::user(question))),
        ordinal: 1,
        setup: Arc::new(setup),
        turn: TurnId::derive(&s, 1),
    }];
    committed(journal, &first).await;
    epoch
}

async fn committed(journal: &SqliteJournal, append: &Append) {
    let appended = journal.append(append).await;
    assert!(matches!(appended, Appended::Committed), "{appended:?}");
}

async fn found(journal: &SqliteJournal, text: &str) -> Vec<SessionId> {
    let query = SessionQuery {
        limit: 9,
        text: Some(text.to_owned()),
        ..SessionQuery::default()
    };
    let rows = journal.sessions(&query).await.expect("a list");
    rows.into_iter().map(|row| row.session).collect()
}

fn count(place: &Place, table: &str) -> i64 {
    let file = Connection::open(place.file()).expect("a database");
    let count = format!("SELECT count(*) FROM {table}");
    file.query_row(&count, (), |row| row.get(0))
        .expect("a count")
}

#[tokio::test]
async fn a_file_of_the_fourth_form_finds_its_steps_without_their_index() {
    let place = Place::new();
    let journal = place.open();
    let (a, b) = (session("a"), session("b"));
    let of_a = begin(&journal, "a", "an apple").await;
    let of_b = begin(&journal, "b", "a banana").await;
    // Side by side, so that the steps of neither stand together.
    for position in 1..20 {
        committed(&journal, &append(&a, of_a, position)).await;
        committed(&journal, &append(&b, of_b, position)).await;
    }
    let delivered = journal.deliver(&a, delivery("d"), "somebody".into(), cancel(&a));
    delivered.await.expect("an answer");
    let before = (journal.load(&a).await, journal.load(&b).await);
    let before = (before.0.expect("a"), before.1.expect("b"));
    journal.close().await;
    drop(journal);
    let file = Connection::open(place.file()).expect("a database");
    file.execute_batch(FORM_4_AGAIN).expect("the fourth form");
    drop(file);

    let journal = place.open();
    assert_eq!(journal.load(&a).await.expect("a").steps, before.0.steps);
    assert_eq!(journal.load(&b).await.expect("b").steps, before.1.steps);
    assert_eq!(journal.load(&a).await.expect("a").deliveries.len(), 1);
    assert_eq!(found(&journal, "banana").await, std::slice::from_ref(&b));
    let checked = journal
        .check(Duration::from_secs(60), Box::new(|_| {}))
        .await;
    assert_eq!(checked.expect("a look").damage, [""; 0]);
    // Both go on, and one asks for another thing.
    let of_a = journal.own(&a).await.expect("a lease").epoch;
    let of_b = journal.own(&b).await.expect("a lease").epoch;
    committed(&journal, &append(&b, of_b, 20)).await;
    committed(&journal, &append(&a, of_a, 20)).await;
    // An answer that got lost is asked for again.
    committed(&journal, &append(&b, of_b, 20)).await;
    assert_eq!(journal.load(&b).await.expect("b").steps.len(), 21);
    // Of what is deleted nothing stays, and nothing else goes.
    journal.release(&a, of_a).await.expect("released");
    journal.delete(&a).await.expect("deleted");
    assert_eq!(found(&journal, "a").await, std::slice::from_ref(&b));
    let tables = ["sessions", "steps", "texts", "deliveries"];
    let rows = tables.map(|table| count(&place, table));
    assert_eq!(rows, [1, 21, 1, 0]);
    let c = begin(&journal, "c", "a cherry").await;
    committed(&journal, &append(&session("c"), c, 1)).await;
    let checked = journal
        .check(Duration::from_secs(60), Box::new(|_| {}))
        .await;
    assert_eq!(checked.expect("a look").damage, [""; 0]);
}
