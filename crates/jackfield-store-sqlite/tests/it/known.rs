//! What an owner knows of its session's row is not gone by where somebody has changed it.

use jackfield_ports::journal::{AppendRefusal, Appended, Journal as _};
use rusqlite::Connection;

use crate::harness::{Place, append, session};

#[tokio::test]
async fn an_owner_that_was_replaced_behind_its_back_writes_nothing() {
    for replaced in [
        "UPDATE sessions SET epoch = epoch + 1",
        "UPDATE sessions SET owner = NULL",
    ] {
        let place = Place::new();
        let journal = place.open();
        let s = session("s");
        let epoch = journal.own(&s).await.expect("a lease").epoch;
        let first = journal.append(&append(&s, epoch, 0)).await;
        assert!(matches!(first, Appended::Committed), "{first:?}");
        let other = Connection::open(place.file()).expect("a database");
        other.execute_batch(replaced).expect("it is replaced");
        let late = journal.append(&append(&s, epoch, 1)).await;
        assert!(
            matches!(late, Appended::Refused(AppendRefusal::StaleEpoch)),
            "{replaced}: {late:?}"
        );
        assert_eq!(journal.load(&s).await.expect("it").steps.len(), 1);
        let steps: i64 = other
            .query_row("SELECT count(*) FROM steps", (), |row| row.get(0))
            .expect("a count");
        assert_eq!(steps, 1);
    }
}

#[tokio::test]
async fn an_append_whose_answer_nobody_waited_for_is_built_upon() {
    let place = Place::new();
    let journal = place.open();
    let s = session("s");
    let epoch = journal.own(&s).await.expect("a lease").epoch;
    let other = Connection::open(place.file()).expect("a database");
    // As by this process, whose word about it got lost.
    let record = jackfield_record::encode_envelope(&append(&s, epoch, 0).steps[0]).expect("it");
    other
        .execute(
            "INSERT INTO steps (number, previous, session, position, epoch, record)
             VALUES (1, 0, 1, 0, ?1, ?2)",
            (epoch.0, record),
        )
        .expect("a step");
    other
        .execute_batch("UPDATE sessions SET steps = 1, known = 1, last = 1")
        .expect("a row");
    for position in [0, 1, 1, 2] {
        let appended = journal.append(&append(&s, epoch, position)).await;
        assert!(matches!(appended, Appended::Committed), "{appended:?}");
    }
    assert_eq!(journal.load(&s).await.expect("it").steps.len(), 3);
}
