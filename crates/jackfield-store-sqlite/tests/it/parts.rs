//! Large texts, kept once and apart from their steps.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::fact::{Envelope, Fact};
use jackfield_domain::ids::{ForkPlace, SessionId, TurnId};
use jackfield_domain::message::Message;
use jackfield_ports::journal::admin::JournalAdmin as _;
use jackfield_ports::journal::{Append, Appended, Epoch, Journal as _, JournalError};
use jackfield_store_sqlite::SqliteJournal;
use rusqlite::Connection;

use crate::harness::{Place, session, step};

const SIZE: usize = 1_000_000;

/// A word that stands in the text, and nowhere else.
const WORD: &str = "sesame open";

fn text() -> String {
    WORD.repeat(SIZE / WORD.len())
}

/// A step that took over this message.
fn forked(number: u64, text: &str) -> Envelope {
    let mut step = step(number);
    step.facts = vec![Fact::SessionForked {
        at: ForkPlace {
            ordinal: 1,
            round: None,
            turn: TurnId::derive(&session("elsewhere"), 1),
        },
        from: session("elsewhere"),
        messages: Arc::new(vec![Arc::new(message(text))]),
        revealed: Vec::new(),
    }];
    step
}

/// A message with a picture that is this text.
fn message(text: &str) -> Message {
    use jackfield_domain::block::{Block, Content};
    use jackfield_domain::media::{Image, MediaSource};
    let picture = Image {
        detail: None,
        source: MediaSource::Base64 {
            data: text.into(),
            media_type: "image/png".into(),
        },
    };
    let block = Block::from(Content::Image(picture));
    Message::new(jackfield_domain::message::Role::User, vec![block])
}

fn append(session: &SessionId, epoch: Epoch, steps: Vec<Envelope>) -> Append {
    Append {
        epoch,
        position: steps.first().map_or(0, |step| step.step),
        seen: 0,
        session: session.clone(),
        steps,
    }
}

/// A session of this name with the text twice, and nobody's.
async fn filled(journal: &SqliteJournal, name: &str) -> SessionId {
    let s = session(name);
    let epoch = journal.own(&s).await.expect("a lease").epoch;
    let steps = vec![forked(0, &text()), forked(1, &text())];
    let appended = journal.append(&append(&s, epoch, steps)).await;
    assert!(matches!(appended, Appended::Committed), "{appended:?}");
    journal.release(&s, epoch).await.expect("let go of");
    s
}

fn file_holds(place: &Place, word: &str) -> bool {
    let file = std::fs::read(place.file()).expect("the file");
    file.windows(word.len())
        .any(|bytes| bytes == word.as_bytes())
}

#[tokio::test]
async fn what_many_sessions_have_is_in_the_file_once() {
    let place = Place::new();
    let journal = place.open();
    for name in ["a", "b", "c", "d"] {
        filled(&journal, name).await;
    }
    journal.close().await;
    let size = std::fs::metadata(place.file()).expect("the file").len();
    assert!(size < 1_500_000, "{size}");
    let journal = place.open();
    let loaded = journal.load(&session("c")).await.expect("the session");
    assert_eq!(loaded.steps, [forked(0, &text()), forked(1, &text())]);
    let checked = journal
        .check(Duration::from_secs(60), Box::new(|_| {}))
        .await;
    assert_eq!(checked.expect("a look").damage, [""; 0]);
}

#[tokio::test]
async fn what_the_last_session_had_is_overwritten() {
    let place = Place::new();
    let journal = place.open();
    let (a, b) = (filled(&journal, "a").await, filled(&journal, "b").await);
    journal.delete(&a).await.expect("deleted");
    journal.close().await;
    assert!(file_holds(&place, WORD));
    let journal = place.open();
    assert_eq!(journal.load(&b).await.expect("the session").steps.len(), 2);
    journal.delete(&b).await.expect("deleted");
    journal.close().await;
    assert!(!file_holds(&place, WORD));
}

#[tokio::test]
async fn a_text_that_is_gone_or_damaged_is_told_with_its_sessions() {
    for damage in [
        "PRAGMA foreign_keys = off; DELETE FROM texts_apart",
        "DELETE FROM parts WHERE session = 1",
        "UPDATE texts_apart SET text = zeroblob(length(text))",
        "UPDATE texts_apart SET text = substr(text, 1, 99)",
    ] {
        let place = Place::new();
        let journal = place.open();
        let s = filled(&journal, "a").await;
        let file = Connection::open(place.file()).expect("a database");
        file.execute_batch(damage).expect("damage");
        let error = journal.load(&s).await.expect_err("damage");
        assert!(matches!(error, JournalError::Corrupt { .. }), "{error:?}");
        let checked = journal
            .check(Duration::from_secs(60), Box::new(|_| {}))
            .await;
        let told = checked.expect("a look").damage;
        let ours = |told: &String| told.starts_with("session a: a part of the record is missing");
        assert!(told.iter().any(ours), "{damage}: {told:?}");
    }
}

#[tokio::test]
async fn an_append_that_fails_leaves_no_text_behind() {
    let place = Place::new();
    let journal = place.open();
    let s = session("a");
    let epoch = journal.own(&s).await.expect("a lease").epoch;
    let refused = journal
        .append(&append(&s, epoch, vec![forked(3, &text())]))
        .await;
    assert!(matches!(refused, Appended::Refused(_)), "{refused:?}");
    let file = Connection::open(place.file()).expect("a database");
    let kept: i64 = file
        .query_row("SELECT count(*) FROM texts_apart", (), |row| row.get(0))
        .expect("a count");
    assert_eq!(kept, 0);
}

#[tokio::test]
async fn a_file_of_the_second_form_keeps_its_whole_records() {
    let place = Place::new();
    let journal = place.open();
    let s = filled(&journal, "a").await;
    journal.close().await;
    drop(journal);
    let file = Connection::open(place.file()).expect("a database");
    file.execute_batch(
        "DROP TABLE upstream_responses; DROP TABLE logins; DROP TABLE meters; DROP TABLE key_secrets; DROP TABLE sealed_secrets; DROP TABLE directory; DROP TABLE titles; ALTER TABLE sessions DROP COLUMN pinned; ALTER TABLE sessions DROP COLUMN archived; DROP TABLE spending; DROP TABLE marks; ALTER TABLE sessions DROP COLUMN principal;
         ALTER TABLE sessions DROP COLUMN loud;
         DROP TABLE parts; DROP TABLE texts_apart; PRAGMA user_version = 2",
    )
    .expect("the second form");
    for number in 0..2 {
        let record = jackfield_record::encode_envelope(&forked(number, &text()));
        file.execute(
            "UPDATE steps SET record = ?2 WHERE position = ?1",
            rusqlite::params![
                i64::try_from(number).expect("small"),
                record.expect("a form")
            ],
        )
        .expect("a step");
    }
    drop(file);
    let journal = place.open();
    let epoch = journal.own(&s).await.expect("a lease").epoch;
    let appended = journal
        .append(&append(&s, epoch, vec![forked(2, &text())]))
        .await;
    assert!(matches!(appended, Appended::Committed), "{appended:?}");
    let loaded = journal.load(&s).await.expect("the session");
    assert_eq!(
        loaded.steps,
        [forked(0, &text()), forked(1, &text()), forked(2, &text())]
    );
}
