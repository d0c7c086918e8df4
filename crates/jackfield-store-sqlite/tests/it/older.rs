//! A file that went back to an older state: its log was cut or overwritten, or it is an older copy.
//!
//! What a killed process leaves is a copy of the files, made while it has them open.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jackfield_domain::fact::{Envelope, Fact, TurnEnd};
use jackfield_domain::ids::{ForkPlace, SessionId, TurnId};
use jackfield_domain::message::Message;
use jackfield_domain::reply::FinishReason;
use jackfield_domain::setup::{Opening, Setup};
use jackfield_ports::journal::admin::JournalAdmin as _;
use jackfield_ports::journal::sessions::SessionQuery;
use jackfield_ports::journal::{Append, Appended, Epoch, Journal as _};
use jackfield_store_sqlite::{Options, SqliteJournal};
use jackfield_testkit::arb;
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;

use crate::harness::{Place, append, session, step};

/// How many bytes the header of a log has, and that of a frame.
const LOG_HEADER: usize = 32;
const FRAME: usize = 24 + 4096;

/// The files as a process leaves them that is killed now.
fn killed(place: &Place, name: &str) -> PathBuf {
    let folder = place.folder.path().join(name);
    fs::create_dir_all(&folder).expect("a folder");
    for suffix in ["", "-wal", "-witness", "-restored"] {
        let from = beside(&place.file(), suffix);
        if from.exists() {
            fs::copy(from, folder.join(format!("jackfield.db{suffix}"))).expect("a copy");
        }
    }
    folder.join("jackfield.db")
}

fn beside(file: &Path, suffix: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn open(file: &Path) -> SqliteJournal {
    SqliteJournal::open(file, Options::default()).expect("a journal")
}

/// Begins a turn in this session, which stays open.
async fn begins(journal: &SqliteJournal, id: &SessionId) -> Epoch {
    let epoch = journal.own(id).await.expect("a lease").epoch;
    let mut runner = TestRunner::deterministic();
    let setup: Setup = arb::setup().new_tree(&mut runner).expect("one").current();
    let opened = Fact::TurnOpened {
        opening: Opening::UserMessage(Arc::new(Message::user("Hi"))),
        ordinal: 1,
        setup: Arc::new(setup),
        turn: TurnId::derive(id, 1),
    };
    commits(journal, &one(id, epoch, 0, opened)).await;
    epoch
}

/// An append of one step with this fact.
fn one(id: &SessionId, epoch: Epoch, position: u64, fact: Fact) -> Append {
    Append {
        steps: vec![Envelope {
            facts: vec![fact],
            ..step(position)
        }],
        ..append(id, epoch, position)
    }
}

/// A step that changes nothing of the open turn.
async fn grows(journal: &SqliteJournal, id: &SessionId, epoch: Epoch, position: u64) {
    let forked = Fact::SessionForked {
        at: ForkPlace {
            ordinal: 1,
            round: None,
            turn: TurnId::derive(id, 1),
        },
        from: id.clone(),
        messages: Arc::default(),
        revealed: Vec::new(),
    };
    commits(journal, &one(id, epoch, position, forked)).await;
}

async fn commits(journal: &SqliteJournal, append: &Append) {
    let appended = journal.append(append).await;
    assert!(matches!(appended, Appended::Committed), "{appended:?}");
}

/// A journal with two open turns, of which the first is written to last; where its log ended before each of
/// the last four appends.
async fn written(place: &Place) -> (SqliteJournal, Vec<usize>) {
    let journal = place.open();
    let (id, mut ends) = (session("one"), Vec::new());
    let epoch = begins(&journal, &id).await;
    begins(&journal, &session("two")).await;
    for position in 1..5 {
        let log = fs::metadata(beside(&place.file(), "-wal")).expect("a log");
        ends.push(usize::try_from(log.len()).expect("a small log"));
        grows(&journal, &id, epoch, position).await;
    }
    (journal, ends)
}

/// The sessions of a file, each with its steps and whether its turn is parked, and what the file says of itself.
async fn found(file: &Path) -> (Vec<(String, u64, bool)>, Option<String>) {
    let journal = open(file);
    let every = SessionQuery {
        limit: 9,
        ..SessionQuery::default()
    };
    let rows = journal.sessions(&every).await.expect("a list");
    let mut found = Vec::new();
    for row in rows {
        let loaded = journal.load(&row.session).await.expect("a session");
        let parked = row.open.is_some_and(|open| open.parked);
        assert_eq!(loaded.restored, parked, "{}", row.session);
        found.push((row.session.as_str().to_owned(), row.steps, parked));
    }
    found.sort();
    let restored = journal.restored().await.expect("an answer");
    journal.close().await;
    (found, restored.map(|restored| restored.to_string()))
}

fn row(name: &str, steps: u64, parked: bool) -> (String, u64, bool) {
    (name.to_owned(), steps, parked)
}

#[tokio::test]
async fn what_a_killed_process_leaves_is_whole() {
    let place = Place::new();
    let (journal, _) = written(&place).await;
    let copy = killed(&place, "killed");
    journal.close().await;
    let whole = vec![row("one", 5, false), row("two", 1, false)];
    assert_eq!(found(&copy).await, (whole.clone(), None));
    assert_eq!(found(&place.file()).await, (whole, None));
}

#[tokio::test]
async fn a_log_that_was_cut_or_overwritten_parks_the_open_turns() {
    type Damage = fn(&mut Vec<u8>, &[usize]);
    let damages: [(&str, Damage, u64); 5] = [
        ("cut-at-a-frame", |log, ends| log.truncate(ends[2]), 3),
        (
            "cut-within-a-frame",
            |log, ends| log.truncate(ends[2] - FRAME / 2),
            2,
        ),
        (
            "one-frame-short",
            |log, _| log.truncate(log.len() - FRAME),
            4,
        ),
        ("overwritten", |log, ends| log[ends[1]..].fill(0xa5), 2),
        ("without-its-header", |log, _| log[..LOG_HEADER].fill(0), 0),
    ];
    for (name, damage, steps) in damages {
        let place = Place::new();
        let (journal, ends) = written(&place).await;
        let copy = killed(&place, name);
        journal.close().await;
        let log = beside(&copy, "-wal");
        let mut bytes = fs::read(&log).expect("a log");
        damage(&mut bytes, &ends);
        fs::write(&log, bytes).expect("written");
        let (rows, why) = found(&copy).await;
        let why = why.unwrap_or_default();
        let said = format!("session one had 5 steps, and has {steps}");
        assert!(why.contains(&said), "{name}: {why}");
        if steps == 0 {
            assert_eq!(rows, [], "{name}");
            continue;
        }
        let expected = vec![row("one", steps, true), row("two", 1, true)];
        assert_eq!(rows, expected, "{name}");
        assert!(why.ends_with("2 turns are parked for it"), "{name}: {why}");
        // It is as true for the next process, whoever looked first.
        assert_eq!(found(&copy).await, (expected, Some(why)), "{name}");
    }
}

#[tokio::test]
async fn an_older_copy_parks_its_open_turns_until_each_is_gone_on_with() {
    for with_log in [true, false] {
        let place = Place::new();
        let journal = place.open();
        let (id, two) = (session("one"), session("two"));
        let epoch = begins(&journal, &id).await;
        begins(&journal, &two).await;
        let older = killed(&place, "backup");
        if !with_log {
            // As SQLite makes one: all of it in one file.
            open(&older).close().await;
        }
        let ended = Fact::TurnEnded {
            end: TurnEnd::Answered(FinishReason::Stop),
            view: None,
        };
        commits(&journal, &one(&id, epoch, 1, ended)).await;
        journal.close().await;
        for suffix in ["", "-wal"] {
            let (from, to) = (beside(&older, suffix), beside(&place.file(), suffix));
            if from.exists() {
                fs::copy(from, to).expect("a copy");
            } else {
                let _none = fs::remove_file(to);
            }
        }
        let file = place.file();
        let (rows, why) = found(&file).await;
        assert_eq!(rows, [row("one", 1, true), row("two", 1, true)]);
        assert!(
            why.expect("a reason")
                .contains("session one had 2 steps, and has 1")
        );
        let journal = open(&file);
        let epoch = journal.own(&two).await.expect("a lease").epoch;
        grows(&journal, &two, epoch, 1).await;
        journal.close().await;
        let (rows, why) = found(&file).await;
        assert_eq!(rows, [row("one", 1, true), row("two", 2, false)]);
        let why = why.expect("a reason");
        assert!(why.ends_with("1 turn is parked for it"), "{why}");
        // Whoever removes the file says that everything was seen to.
        fs::remove_file(beside(&file, "-restored")).expect("it is there");
        let (rows, why) = found(&file).await;
        assert_eq!(rows, [row("one", 1, false), row("two", 2, false)]);
        assert_eq!(why, None);
    }
}

#[tokio::test]
async fn what_is_deleted_is_not_taken_for_lost() {
    let place = Place::new();
    let one = session("one");
    let (journal, _) = written(&place).await;
    journal.close().await;
    drop(journal);
    let journal = place.open();
    journal.delete(&one).await.expect("deleted");
    let copy = killed(&place, "killed");
    assert_eq!(found(&copy).await, (vec![row("two", 1, false)], None));
    // Nor is a file that begins anew.
    let epoch = begins(&journal, &one).await;
    grows(&journal, &one, epoch, 1).await;
    journal.close().await;
    drop(journal);
    fs::remove_file(place.file()).expect("it is there");
    assert_eq!(found(&place.file()).await, (vec![], None));
}

#[tokio::test]
async fn a_turn_that_a_person_marked_stays_parked_in_the_next_process() {
    let place = Place::new();
    let (journal, _) = written(&place).await;
    journal
        .mark_restored(&session("two"))
        .await
        .expect("marked");
    journal.close().await;
    let (rows, why) = found(&place.file()).await;
    assert_eq!(rows, [row("one", 5, false), row("two", 1, true)]);
    let why = why.expect("a reason");
    assert!(
        why.contains("were marked as restored; 1 turn is parked"),
        "{why}"
    );
}

#[tokio::test]
async fn a_page_that_was_overwritten_is_found_without_reading_any_session() {
    let place = Place::new();
    let (journal, _) = written(&place).await;
    journal.close().await;
    let file = place.file();
    let soon = std::time::Duration::from_secs(60);
    let journal = open(&file);
    let sound = journal.quick_check(soon).await.expect("a look");
    assert!(sound.is_complete && sound.damage.is_empty(), "{sound:?}");
    journal.close().await;
    let mut bytes = fs::read(&file).expect("a file");
    // The last but one is a leaf of a table or an index, whichever it is.
    let page = bytes.len() / 4096 - 2;
    bytes[page * 4096..(page + 1) * 4096].fill(0xa5);
    fs::write(&file, bytes).expect("written");
    let journal = open(&file);
    let damaged = journal.quick_check(soon).await.expect("a look");
    assert!(!damaged.damage.is_empty(), "{damaged:?}");
    journal.close().await;
}

#[tokio::test]
async fn a_witness_that_was_cut_off_says_nothing() {
    let place = Place::new();
    let (journal, _) = written(&place).await;
    let witnesses = [
        ("whole", "jackfield-1 one 120 .   \n", true),
        ("empty", "", false),
        ("blank", " \n", false),
        ("cut-off", "jackfield-1 one 12", false),
        ("newer", "jackfield-2 one 120 .\n", false),
    ];
    for (name, text, is_read) in witnesses {
        let copy = killed(&place, name);
        fs::write(beside(&copy, "-witness"), text).expect("written");
        let (_, why) = found(&copy).await;
        let said = "session one had 120 steps, and has 5";
        assert_eq!(why.is_some_and(|why| why.contains(said)), is_read, "{name}");
    }
    journal.close().await;
}
