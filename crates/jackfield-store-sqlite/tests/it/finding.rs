//! Finding turns again in files that are older, or large.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jackfield_domain::caller::{Caller, Display};
use jackfield_domain::digest::Digest;
use jackfield_domain::fact::{Envelope, Fact};
use jackfield_domain::ids::{SessionId, TurnId};
use jackfield_domain::message::Message;
use jackfield_domain::setup::{Opening, Setup};
use jackfield_ports::journal::admin::JournalAdmin as _;
use jackfield_ports::journal::marks::{FoundTurn, Mark};
use jackfield_ports::journal::{Append, Appended, Journal as _};
use jackfield_store_sqlite::SqliteJournal;
use jackfield_testkit::arb;
use jackfield_testkit::contract::journal::START;
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;
use rusqlite::Connection;

use crate::forms::FORM_4_AGAIN;
use crate::harness::{Place, append, cancel, delivery, session, step};

#[tokio::test]
async fn a_file_of_the_third_form_finds_what_comes_then_and_is_heard() {
    let place = Place::new();
    let journal = place.open();
    let s = session("s");
    open_turn(&journal, &s, 0, None).await;
    let delivered = journal.deliver(&s, delivery("d"), "somebody".into(), cancel(&s));
    delivered.await.expect("an answer");
    journal.close().await;
    drop(journal);
    let file = Connection::open(place.file()).expect("a database");
    file.execute_batch(FORM_4_AGAIN).expect("the fourth form");
    file.execute_batch(
        "DROP TABLE marks; ALTER TABLE sessions DROP COLUMN principal;
         ALTER TABLE sessions DROP COLUMN loud; PRAGMA user_version = 3",
    )
    .expect("the third form");
    drop(file);
    let journal = place.open();
    // What was delivered before has not been seen, whatever else the row said.
    let epoch = journal.own(&s).await.expect("a lease").epoch;
    let appended = journal.append(&append(&s, epoch, 1)).await;
    assert!(matches!(appended, Appended::Committed), "{appended:?}");
    journal.release(&s, epoch).await.expect("released");
    let due = journal.due(START, 9).await.expect("a list");
    assert_eq!(due.sessions, std::slice::from_ref(&s));
    open_turn(&journal, &s, 2, Some("ann")).await;
    let found = find(&journal, "ann", &s, 2).await;
    assert_eq!(found.len(), 1);
    assert_eq!(find(&journal, "ann", &s, 1).await, []);
    let checked = journal
        .check(Duration::from_secs(60), Box::new(|_| {}))
        .await;
    assert_eq!(checked.expect("a look").damage, [""; 0]);
}

#[tokio::test]
async fn among_a_hundred_thousand_sessions_a_turn_is_found_without_looking_at_them() {
    let place = Place::new();
    let journal = place.open();
    let file = Connection::open(place.file()).expect("a database");
    file.execute_batch(
        "BEGIN;
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
             INSERT INTO sessions (id, epoch, created, changed) SELECT 's' || i, 1, 0, 0 FROM n;
         INSERT INTO marks (session, place, turn) SELECT number, randomblob(32), 'turn' FROM sessions;
         COMMIT",
    )
    .expect("sessions");
    let s = session("ours");
    open_turn(&journal, &s, 0, Some("ann")).await;
    let (mut seek, mut scan) = (Duration::MAX, Duration::MAX);
    for _ in 0..20 {
        let started = Instant::now();
        assert_eq!(find(&journal, "ann", &s, 1).await.len(), 1);
        seek = seek.min(started.elapsed());
        let started = Instant::now();
        let count: i64 = file
            .query_row(
                "SELECT count(*) FROM marks WHERE +place = x'00'",
                (),
                |row| row.get(0),
            )
            .expect("a count");
        assert_eq!(count, 0);
        scan = scan.min(started.elapsed());
    }
    assert!(
        seek < scan / 4,
        "{seek:?} is no seek where {scan:?} is a scan"
    );
}

/// Opens the nth turn of a session, whose steps are one each.
async fn open_turn(journal: &SqliteJournal, s: &SessionId, position: u64, who: Option<&str>) {
    let mut runner = TestRunner::deterministic();
    let mut setup: Setup = arb::setup().new_tree(&mut runner).expect("one").current();
    setup.caller = who.map(|who| Arc::new(caller(who)));
    let ordinal = u32::try_from(position).unwrap_or(u32::MAX).max(1);
    let opened = Fact::TurnOpened {
        opening: Opening::UserMessage(Arc::new(Message::user("Hi"))),
        ordinal,
        setup: Arc::new(setup),
        turn: TurnId::derive(s, ordinal),
    };
    let epoch = journal.own(s).await.expect("a lease").epoch;
    let opened = Append {
        steps: vec![Envelope {
            facts: vec![opened],
            ..step(position)
        }],
        ..append(s, epoch, position)
    };
    let appended = journal.append(&opened).await;
    assert!(matches!(appended, Appended::Committed), "{appended:?}");
}

/// The nth turn of a session, by its id.
async fn find(journal: &SqliteJournal, who: &str, s: &SessionId, ordinal: u32) -> Vec<FoundTurn> {
    let mark = Mark::Turn(TurnId::derive(s, ordinal));
    journal.find(who, &[mark], 9).await.expect("a list")
}

fn caller(principal: &str) -> Caller {
    Caller {
        body: Some(Digest::of(b"body")),
        dialect: "claude".into(),
        display: Display::default(),
        echo: None,
        key: None,
        model: "model".into(),
        principal: principal.into(),
        view: None,
    }
}
