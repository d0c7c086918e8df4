//! A long session that was read before is read on, and what is told of it is what the file has.

use std::sync::Arc;

use jackfield_domain::fact::{Envelope, Fact};
use jackfield_domain::ids::{ForkPlace, SessionId, TurnId};
use jackfield_domain::message::Message;
use jackfield_domain::setup::{Opening, Setup};
use jackfield_ports::journal::{Append, Appended, Journal as _, JournalError};
use jackfield_store_sqlite::SqliteJournal;
use jackfield_testkit::arb;
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;
use rusqlite::Connection;

use crate::harness::{Place, append, cancel, delivery, session, step};

#[tokio::test]
async fn what_others_wrote_since_is_told() {
    let place = Place::new();
    let (here, elsewhere) = (place.open(), place.open());
    let s = session("s");
    for round in 0..4 {
        let who = if round % 2 == 0 { &here } else { &elsewhere };
        grow(who, &s, round * 10..round * 10 + 10, "x").await;
        let id = delivery(&format!("d{round}"));
        let delivered = who.deliver(&s, id, "somebody".into(), cancel(&s));
        delivered.await.expect("an answer");
        let fresh = place.open();
        let told = fresh.load(&s).await.expect("it");
        assert_eq!(told.steps.len() as u64, round * 10 + 10);
        assert_eq!(told.deliveries.len() as u64, round + 1);
        assert!(here.load(&s).await.expect("it") == told, "another session");
        // Once more, with nothing new.
        assert!(here.load(&s).await.expect("it") == told, "another session");
    }
}

#[tokio::test]
async fn what_is_known_is_not_read_again() {
    let place = Place::new();
    let mut options = place.options();
    options.recent_bytes = 0;
    let knows_nothing = SqliteJournal::open(place.file(), options).expect("a journal");
    let knows = place.open();
    let s = session("s");
    grow(&knows, &s, 0..10, "x").await;
    for journal in [&knows, &knows_nothing] {
        assert_eq!(journal.load(&s).await.expect("it").steps.len(), 10);
    }
    damage_first(&place);
    grow(&knows, &s, 10..12, "x").await;
    assert_eq!(knows.load(&s).await.expect("it").steps.len(), 12);
    let read = knows_nothing.load(&s).await;
    assert!(
        matches!(read, Err(JournalError::Corrupt { .. })),
        "{read:?}"
    );
}

#[tokio::test]
async fn a_session_of_the_same_name_is_another_one() {
    let place = Place::new();
    let (here, elsewhere) = (place.open(), place.open());
    let s = session("s");
    grow(&here, &s, 0..10, "x").await;
    here.load(&s).await.expect("it");
    elsewhere.delete(&s).await.expect("it is deleted");
    // As long, and under the same numbers.
    grow(&elsewhere, &s, 0..10, "y").await;
    let told = here.load(&s).await.expect("it");
    assert!(
        told == elsewhere.load(&s).await.expect("it"),
        "another session"
    );
    assert!(
        told == place.open().load(&s).await.expect("it"),
        "another session"
    );
    // And one that is shorter.
    elsewhere.delete(&s).await.expect("it is deleted");
    grow(&elsewhere, &s, 0..8, "z").await;
    let told = here.load(&s).await.expect("it");
    assert!(
        told == place.open().load(&s).await.expect("it"),
        "another session"
    );
}

#[tokio::test]
async fn what_was_read_longest_ago_is_let_go_of() {
    let place = Place::new();
    let journal = place.open();
    let [a, b, c] = ["a", "b", "c"].map(session);
    for s in [&a, &b, &c] {
        grow(&journal, s, 0..10, "x").await;
    }
    let size = journal.load(&a).await.expect("it").steps.len() * LONG;
    drop(journal);
    let mut options = place.options();
    // Two of them, and not a third.
    options.recent_bytes = u64::try_from(size * 5 / 2).expect("a size");
    let journal = SqliteJournal::open(place.file(), options).expect("a journal");
    for s in [&a, &b, &a, &c] {
        journal.load(s).await.expect("it");
    }
    damage_first(&place);
    for s in [&a, &c] {
        journal.load(s).await.expect("what is known");
    }
    let read = journal.load(&b).await;
    assert!(
        matches!(read, Err(JournalError::Corrupt { .. })),
        "{read:?}"
    );
}

/// Of the turns of a session that are set up alike, one has the catalog.
#[tokio::test]
async fn turns_share_what_they_were_set_up_with() {
    let place = Place::new();
    let journal = place.open();
    let s = session("s");
    let mut runner = TestRunner::deterministic();
    let with_tools = arb::setup().prop_filter("has tools", |setup| !setup.catalog.is_empty());
    let mut setup = || with_tools.new_tree(&mut runner).expect("one").current();
    let (one, other) = (setup(), setup());
    assert_ne!(one.catalog, other.catalog);
    for (place, setup) in [&one, &one, &other].into_iter().enumerate() {
        open(&journal, &s, place as u64, setup).await;
    }
    // Read at once, and read on.
    for more in [false, true] {
        let mut places = 3;
        if more {
            grow(&journal, &s, 3..12, "x").await;
            journal.load(&s).await.expect("it");
            open(&journal, &s, 12, &other).await;
            places = 4;
        }
        let loaded = journal.load(&s).await.expect("it");
        let setups: Vec<&Arc<Setup>> = setups(&loaded.steps);
        assert_eq!(setups.len(), places);
        let shared = |a: usize, b: usize| Arc::ptr_eq(&setups[a].catalog, &setups[b].catalog);
        assert!(shared(0, 1) && !shared(1, 2));
        assert!(!more || shared(2, 3));
        assert_eq!(*setups[1].catalog, *one.catalog);
        assert_eq!(*setups[2].catalog, *other.catalog);
    }
}

fn setups(steps: &[Envelope]) -> Vec<&Arc<Setup>> {
    let mut setups = Vec::new();
    for fact in steps.iter().flat_map(|step| &step.facts) {
        if let Fact::TurnOpened { setup, .. } = fact {
            setups.push(setup);
        }
    }
    setups
}

async fn open(journal: &SqliteJournal, s: &SessionId, position: u64, setup: &Setup) {
    let ordinal = u32::try_from(position).unwrap_or(u32::MAX);
    let opened = Fact::TurnOpened {
        opening: Opening::UserMessage(Arc::new(Message::user("Hi"))),
        ordinal,
        setup: Arc::new(setup.clone()),
        turn: TurnId::derive(s, ordinal),
    };
    let steps = vec![Envelope {
        facts: vec![opened],
        ..step(position)
    }];
    write(journal, s, position, steps).await;
}

/// Writes long steps at these places.
async fn grow(journal: &SqliteJournal, s: &SessionId, places: std::ops::Range<u64>, text: &str) {
    let position = places.start;
    let long = |number| Envelope {
        facts: vec![Fact::SessionForked {
            at: ForkPlace {
                ordinal: 1,
                round: None,
                turn: TurnId::derive(s, 1),
            },
            from: s.clone(),
            messages: Arc::new(vec![Arc::new(Message::user(text.repeat(LONG)))]),
            revealed: Vec::new(),
        }],
        ..step(number)
    };
    write(journal, s, position, places.map(long).collect()).await;
}

async fn write(journal: &SqliteJournal, s: &SessionId, position: u64, steps: Vec<Envelope>) {
    let epoch = journal.own(s).await.expect("a lease").epoch;
    let append = Append {
        steps,
        ..append(s, epoch, position)
    };
    let appended = journal.append(&append).await;
    assert!(matches!(appended, Appended::Committed), "{appended:?}");
    journal.release(s, epoch).await.expect("released");
}

/// Has the first step of every session say nothing that anybody could read.
fn damage_first(place: &Place) {
    let file = Connection::open(place.file()).expect("a database");
    let damaged = file.execute("UPDATE steps SET record = x'00' WHERE position = 0", ());
    assert!(damaged.expect("it is damaged") > 0);
}

/// The bytes of a text of which ten make a session that is not short.
const LONG: usize = 5_000;
