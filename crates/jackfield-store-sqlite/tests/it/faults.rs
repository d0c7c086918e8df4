//! Faults of the file and of the disk: each append whole or not at all, and words that help.

use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use jackfield_domain::fact::{Envelope, Fact};
use jackfield_domain::ids::{SessionId, ToolAttempt, ToolCallId};
use jackfield_domain::wait::JobHandle;
use jackfield_ports::journal::sessions::SessionQuery;
use jackfield_ports::journal::{
    Append, AppendRefusal, Appended, Epoch, Journal as _, JournalError,
};
use jackfield_store_sqlite::{OpenError, SqliteJournal};
use rusqlite::Connection;
use serde_json::Value;

use crate::harness::{Place, append, session, step};

/// An append of three steps that fill more than a page.
fn wide(session: &SessionId, epoch: Epoch, position: u64) -> Append {
    let steps = (position..position + 3).map(|number| Envelope {
        facts: vec![Fact::CallAccepted {
            attempt: ToolAttempt {
                call: ToolCallId::parse("call").expect("a valid id"),
                attempt: 1,
            },
            handle: JobHandle(Arc::new(Value::from(format!("{session} ").repeat(400)))),
        }],
        ..step(number)
    });
    Append {
        steps: steps.collect(),
        ..append(session, epoch, position)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn turns_side_by_side_run_out_of_room_each_between_two_appends() {
    let place = Place::new();
    let mut options = place.options();
    options.max_bytes = Some(300 * 4096);
    let journal = SqliteJournal::open(place.file(), options).expect("a journal");
    let journal = Arc::new(journal);
    let mut turns = tokio::task::JoinSet::new();
    for nth in 0..16 {
        let journal = Arc::clone(&journal);
        turns.spawn(async move {
            let s = session(&format!("s{nth}"));
            let epoch = journal.own(&s).await.expect("a lease").epoch;
            let mut position = 0;
            loop {
                match journal.append(&wide(&s, epoch, position)).await {
                    Appended::Committed => position += 3,
                    Appended::Refused(AppendRefusal::Unwritable { why }) => {
                        assert!(why.contains("make room"), "{why}");
                        return (s, epoch, position);
                    }
                    other @ (Appended::Refused(_) | Appended::Unknown(_)) => panic!("{other:?}"),
                }
            }
        });
    }
    let turns = turns.join_all().await;
    assert!(
        turns.iter().any(|(_, _, position)| *position > 0),
        "{turns:?}"
    );
    for (s, _, position) in &turns {
        let steps = journal.load(s).await.expect("the session").steps;
        assert_eq!(steps.len() as u64, *position);
    }
    // Room is made, and all of them go on where they were.
    let (gone, epoch, _) = &turns[0];
    journal.release(gone, *epoch).await.expect("released");
    journal.delete(gone).await.expect("deleted");
    let (s, epoch, position) = &turns[1];
    let appended = journal.append(&append(s, *epoch, *position)).await;
    assert!(matches!(appended, Appended::Committed), "{appended:?}");
}

#[tokio::test]
async fn a_file_that_cannot_be_there_is_told_with_its_place() {
    let place = Place::new();
    let folder = place.folder.path().join("folder.db");
    std::fs::create_dir(&folder).expect("a folder");
    let beneath = place.folder.path().join("file");
    std::fs::write(&beneath, "no folder").expect("a file");
    let socket = place.folder.path().join("socket");
    let _listens = std::os::unix::net::UnixListener::bind(&socket).expect("a socket");
    for path in [
        folder,
        beneath.join("jackfield.db"),
        socket,
        "/dev/null".into(),
    ] {
        let error = SqliteJournal::open(&path, place.options()).expect_err("an error");
        let told = matches!(
            (&error, path.parent() == Some(&*beneath)),
            (OpenError::Io { .. }, true) | (OpenError::NotAFile { .. }, false)
        );
        assert!(told, "{error:?}");
        assert!(
            error.to_string().contains(&*path.to_string_lossy()),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_damaged_page_is_told_and_the_rest_can_be_read() {
    let place = Place::new();
    let journal = place.open();
    let (one, other) = (session("one"), session("other"));
    for s in [&one, &other] {
        let epoch = journal.own(s).await.expect("a lease").epoch;
        for nth in 0..40 {
            let appended = journal.append(&append(s, epoch, nth)).await;
            assert!(matches!(appended, Appended::Committed), "{appended:?}");
        }
    }
    journal.close().await;
    let file = Connection::open(place.file()).expect("a database");
    file.pragma_update(None, "journal_mode", "delete")
        .expect("one file");
    let steps: i64 = file
        .query_row(
            "SELECT rootpage FROM sqlite_schema WHERE name = 'steps'",
            (),
            |row| row.get(0),
        )
        .expect("a page");
    file.pragma_update(None, "journal_mode", "wal")
        .expect("as it was");
    drop(file);
    let pages = std::fs::OpenOptions::new()
        .write(true)
        .open(place.file())
        .expect("the file");
    let offset = u64::try_from(steps - 1).expect("a page") * 4096;
    pages.write_all_at(&[0xa5; 4096], offset).expect("damage");
    let journal = place.open();
    let error = journal.load(&one).await.expect_err("an error");
    assert!(
        matches!(&error, JournalError::Corrupt { session, .. } if *session == one),
        "{error:?}"
    );
    let words = std::error::Error::source(&error).expect("a source");
    assert!(words.to_string().contains("damaged"), "{words}");
    let every = SessionQuery {
        limit: 9,
        ..SessionQuery::default()
    };
    assert_eq!(journal.sessions(&every).await.expect("a list").len(), 2);
}

#[tokio::test]
async fn what_could_not_be_let_go_of_is_let_go_of_when_the_file_is_back() {
    let place = Place::new();
    let journal = place.open();
    let s = session("s");
    let epoch = journal.own(&s).await.expect("a lease").epoch;
    let away = place.file().with_extension("away");
    std::fs::rename(place.file(), &away).expect("it can be moved");
    for _ in 0..2 {
        let failed = journal.release(&s, epoch).await.expect_err("an error");
        assert!(
            matches!(failed, JournalError::Unreachable { .. }),
            "{failed:?}"
        );
    }
    std::fs::rename(&away, place.file()).expect("it can be moved");
    let every = SessionQuery {
        limit: 9,
        ..SessionQuery::default()
    };
    let is_owned = async || {
        let rows = journal.sessions(&every).await.expect("a list");
        rows.iter().any(|row| row.owned)
    };
    assert!(is_owned().await);
    journal.release(&s, epoch).await.expect("released");
    assert!(!is_owned().await);
    // One that comes late takes nothing from the next owner.
    let next = journal.own(&s).await.expect("a lease").epoch;
    journal
        .release(&s, epoch)
        .await
        .expect("nothing to release");
    assert!(is_owned().await);
    let appended = journal.append(&append(&s, next, 0)).await;
    assert!(matches!(appended, Appended::Committed), "{appended:?}");
}
