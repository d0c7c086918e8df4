//! The file: who may read it, what it is refused for, and what is said then.

use std::os::unix::fs::PermissionsExt as _;

use jackfield_ports::journal::admin::JournalAdmin as _;
use jackfield_ports::journal::{AppendRefusal, Appended, Journal as _, JournalError};
use jackfield_store_sqlite::{OpenError, SqliteJournal};
use rusqlite::Connection;

use crate::harness::{Place, append, cancel, delivery, session};

#[tokio::test]
async fn nobody_else_may_read_what_is_kept() {
    let place = Place::new();
    let journal = place.open();
    let s = session("s");
    let epoch = journal.own(&s).await.expect("a lease").epoch;
    assert!(matches!(
        journal.append(&append(&s, epoch, 0)).await,
        Appended::Committed
    ));
    let folder = place.file();
    let folder = folder.parent().expect("a folder");
    let mode = |path: &std::path::Path| {
        std::fs::metadata(path)
            .expect("a file")
            .permissions()
            .mode()
            & 0o777
    };
    assert_eq!(mode(folder), 0o700);
    let files = std::fs::read_dir(folder).expect("the folder");
    let files: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
    // The database, its log and index, its witness, the lock of its form, and the folder of owners.
    assert_eq!(files.len(), 6, "{files:?}");
    for file in files {
        let expected = if file.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode(&file), expected, "{}", file.display());
    }
}

#[tokio::test]
async fn a_file_of_another_program_is_left_alone() {
    let place = Place::new();
    std::fs::create_dir_all(place.file().parent().expect("a folder")).expect("a folder");
    let other = Connection::open(place.file()).expect("a database");
    other
        .execute_batch("CREATE TABLE recipes (name TEXT)")
        .expect("a table");
    drop(other);
    let before = std::fs::read(place.file()).expect("a file");
    let refused = SqliteJournal::open(place.file(), place.options());
    assert!(
        matches!(refused, Err(OpenError::NotOurs { .. })),
        "{refused:?}"
    );
    assert_eq!(std::fs::read(place.file()).expect("a file"), before);
}

#[tokio::test]
async fn a_file_of_a_newer_version_is_left_alone() {
    let place = Place::new();
    place.open().close().await;
    let newer = Connection::open(place.file()).expect("a database");
    newer
        .pragma_update(None, "user_version", 99)
        .expect("a form");
    drop(newer);
    let refused = SqliteJournal::open(place.file(), place.options());
    assert!(
        matches!(
            refused,
            Err(OpenError::Newer {
                found: 99,
                known: 11,
                ..
            })
        ),
        "{refused:?}"
    );
}

#[tokio::test]
async fn what_is_no_database_is_refused_in_words() {
    let place = Place::new();
    std::fs::create_dir_all(place.file().parent().expect("a folder")).expect("a folder");
    std::fs::write(
        place.file(),
        "a text of some length, which is no database".repeat(200),
    )
    .expect("a file");
    let error = SqliteJournal::open(place.file(), place.options()).expect_err("an error");
    let source = std::error::Error::source(&error)
        .expect("a source")
        .to_string();
    assert!(source.contains("damaged"), "{source}");
}

#[tokio::test]
async fn a_full_disk_refuses_whole_appends_and_spares_what_is_there() {
    let place = Place::new();
    let mut options = place.options();
    options.max_bytes = Some(64 * 4096);
    let journal = SqliteJournal::open(place.file(), options).expect("a journal");
    let s = session("s");
    let epoch = journal.own(&s).await.expect("a lease").epoch;
    let mut position = 0;
    let refused = loop {
        match journal.append(&append(&s, epoch, position)).await {
            Appended::Committed => position += 1,
            Appended::Refused(refusal) => break refusal,
            Appended::Unknown(error) => panic!("{error}"),
        }
    };
    let AppendRefusal::Unwritable { why } = refused else {
        panic!("{refused:?}");
    };
    let path = place.file().display().to_string();
    assert!(why.starts_with(&path) && why.contains("make room"), "{why}");
    let loaded = journal.load(&s).await.expect("the session");
    assert_eq!(loaded.steps.len() as u64, position);
    journal.close().await;
    let journal = place.open();
    let epoch = journal.own(&s).await.expect("a lease").epoch;
    assert!(matches!(
        journal.append(&append(&s, epoch, position)).await,
        Appended::Committed
    ));
}

#[tokio::test]
async fn what_can_only_be_read_is_named_with_what_it_has_to_be() {
    let place = Place::new();
    place.open().close().await;
    // Whoever is root may write whatever a mode says; but nobody can write a folder as a log.
    let mut log = place.file().into_os_string();
    log.push("-wal");
    let _none = std::fs::remove_file(&log);
    std::fs::create_dir(&log).expect("a folder");
    let error = SqliteJournal::open(place.file(), place.options()).expect_err("an error");
    let mut said = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(error) = cause {
        said = format!("{said}: {error}");
        cause = error.source();
    }
    let path = place.file().display().to_string();
    assert!(said.contains(&path), "{said}");
    let advice = "the file, or the folder it is in, cannot be written";
    assert!(said.contains(advice), "{said}");
}

#[tokio::test]
async fn a_damaged_row_is_named_with_its_session_and_spares_the_others() {
    for damage in [
        "UPDATE steps SET record = x'7b7d' WHERE session = 1",
        "DELETE FROM steps WHERE session = 1",
        "UPDATE sessions SET turns = -1 WHERE number = 1",
    ] {
        let place = Place::new();
        let journal = place.open();
        let (damaged, sound) = (session("damaged"), session("sound"));
        for s in [&damaged, &sound] {
            let epoch = journal.own(s).await.expect("a lease").epoch;
            journal.append(&append(s, epoch, 0)).await;
        }
        let other = Connection::open(place.file()).expect("a database");
        other.execute_batch(damage).expect("damage");
        let error = journal.load(&damaged).await.expect_err("an error");
        assert!(
            matches!(&error, JournalError::Corrupt { session, .. } if *session == damaged),
            "{damage}: {error:?}"
        );
        let loaded = journal.load(&sound).await.expect("the other");
        assert_eq!(loaded.steps.len(), 1, "{damage}");
    }
}

#[tokio::test]
async fn what_was_deleted_is_overwritten() {
    let place = Place::new();
    let journal = place.open();
    let s = session("remember-me");
    let epoch = journal.own(&s).await.expect("a lease").epoch;
    let delivered = journal.deliver(&s, delivery("d"), "sesame".into(), cancel(&s));
    delivered.await.expect("an answer");
    journal.release(&s, epoch).await.expect("released");
    // Also while somebody else has the file open, who has read all of it.
    let other = place.open();
    other.load(&s).await.expect("the session");
    journal.delete(&s).await.expect("deleted");
    let mut log = place.file().into_os_string();
    log.push("-wal");
    for path in [place.file(), log.into()] {
        let file = std::fs::read(path).expect("the file");
        for word in ["sesame", "remember-me"] {
            let found = file
                .windows(word.len())
                .any(|bytes| bytes == word.as_bytes());
            assert!(!found, "{word}");
        }
    }
    drop(other);
}

#[cfg(unix)]
#[tokio::test]
async fn what_has_no_name_any_more_is_not_written_to() {
    let place = Place::new();
    let journal = place.open();
    let s = session("s");
    let epoch = journal.own(&s).await.expect("a lease").epoch;
    journal.append(&append(&s, epoch, 0)).await;
    let away = place.folder.path().join("away.db");
    std::fs::rename(place.file(), &away).expect("moved");
    for replaced in [false, true] {
        if replaced {
            std::fs::write(place.file(), "").expect("another file");
        }
        match journal.append(&append(&s, epoch, 1)).await {
            Appended::Refused(AppendRefusal::Unwritable { why }) => {
                assert!(why.contains("put it back"), "{why}");
            }
            answer @ (Appended::Committed | Appended::Refused(_) | Appended::Unknown(_)) => {
                panic!("{answer:?}")
            }
        }
        // Nobody is told that a session is theirs that would be gone.
        let new = session(if replaced { "new" } else { "newer" });
        let error = journal.own(&new).await.expect_err("an error");
        assert!(
            matches!(error, JournalError::Unreachable { .. }),
            "{error:?}"
        );
    }
    // Nothing was lost, and nothing was written.
    std::fs::rename(&away, place.file()).expect("moved back");
    let appended = journal.append(&append(&s, epoch, 1)).await;
    assert!(matches!(appended, Appended::Committed), "{appended:?}");
}

/// Reads go on when nobody waits for them any more, and count until they have ended.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_that_nobody_waits_for_are_no_more_than_others() {
    use std::sync::mpsc::channel;
    use std::time::Duration;
    let place = Place::new();
    let journal = std::sync::Arc::new(place.open());
    let (begun, begins) = channel::<()>();
    let mut held = Vec::new();
    let begin = |held: &mut Vec<_>| {
        let (go_on, waits) = channel::<()>();
        held.push(go_on);
        let (journal, begun) = (std::sync::Arc::clone(&journal), begun.clone());
        tokio::spawn(async move {
            let progress = move |_| {
                begun.send(()).unwrap_or_default();
                waits.recv().unwrap_or_default();
            };
            journal
                .check(Duration::from_secs(60), Box::new(progress))
                .await
        })
    };
    let soon = Duration::from_secs(60);
    for _ in 0..4 {
        let look = begin(&mut held);
        begins.recv_timeout(soon).expect("it begins");
        look.abort();
        look.await.expect_err("nobody waits for it");
    }
    let fifth = begin(&mut held);
    // It may be that it had no time yet; it does not begin in any case.
    let began = begins.recv_timeout(Duration::from_millis(200));
    assert!(began.is_err(), "five read at once");
    held.clear();
    let looked = fifth.await.expect("no panic").expect("a look");
    assert!(looked.is_complete);
}

#[tokio::test]
async fn a_link_that_is_planted_beside_the_file_is_not_followed() {
    let place = Place::new();
    let s = session("s");
    place.open().close().await;
    let beside = |after: &str| {
        let mut name = place.file().into_os_string();
        name.push(after);
        std::path::PathBuf::from(name)
    };
    let victim = place.file().with_file_name("victim");
    std::fs::write(&victim, "precious").expect("a file");
    let plant = |file: &std::path::Path| {
        // It may not be there.
        let _removed = std::fs::remove_file(file);
        std::os::unix::fs::symlink(&victim, file).expect("a link");
    };
    // The note of the last append is left out.
    plant(&beside("-witness"));
    let journal = place.open();
    let epoch = journal.own(&s).await.expect("a lease").epoch;
    assert!(matches!(
        journal.append(&append(&s, epoch, 0)).await,
        Appended::Committed
    ));
    journal.close().await;
    // Without its lock, the file is not opened.
    plant(&beside("-form"));
    let refused = SqliteJournal::open(place.file(), place.options());
    assert!(refused.is_err(), "{refused:?}");
    assert_eq!(std::fs::read(&victim).expect("a file"), b"precious");
    // A file that is not there yet is not made elsewhere.
    let nowhere = place.file().with_file_name("nowhere");
    let linked = place.file().with_file_name("linked.db");
    std::os::unix::fs::symlink(&nowhere, &linked).expect("a link");
    let refused = SqliteJournal::open(linked, place.options());
    assert!(refused.is_err(), "{refused:?}");
    assert!(!nowhere.exists());
}

#[tokio::test]
async fn planted_links_take_neither_marks_nor_holds() {
    let place = Place::new();
    let s = session("s");
    let journal = place.open();
    let epoch = journal.own(&s).await.expect("a lease").epoch;
    assert!(matches!(
        journal.append(&append(&s, epoch, 0)).await,
        Appended::Committed
    ));
    let beside = |after: &str| {
        let mut name = place.file().into_os_string();
        name.push(after);
        std::path::PathBuf::from(name)
    };
    let nowhere = place.file().with_file_name("nowhere");
    let mark = beside("-restored");
    std::os::unix::fs::symlink(&nowhere, &mark).expect("a link");
    let refused = journal.mark_restored(&s).await.expect_err("a link");
    let told = format!("{} is a symbolic link", mark.display());
    assert!(format!("{refused:?}").contains(&told), "{refused:?}");
    std::fs::remove_file(&mark).expect("the link");
    journal.mark_restored(&s).await.expect("marked");
    // The name of a held session's file, from a hold.
    let held = journal.hold(&s).await.expect("a hold");
    let mut holds = std::fs::read_dir(beside("-holds")).expect("the folder");
    let hold = holds.next().expect("a file").expect("a file").path();
    drop(held);
    assert!(!hold.exists());
    std::os::unix::fs::symlink(&nowhere, &hold).expect("a link");
    let refused = journal.hold(&s).await.map(drop).expect_err("a link");
    assert!(
        format!("{refused:?}").contains("is a symbolic link"),
        "{refused:?}"
    );
    assert!(!nowhere.exists());
    journal.close().await;
}
