//! Spending records in a file: across forms, versions and damage, and within the size limit.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::spending_record::SpendingRecord;
use jackfield_ports::journal::admin::{CheckReport, JournalAdmin as _};
use jackfield_ports::journal::spending::{SpendingLog, SpendingPage, SpendingQuery};
use jackfield_ports::journal::{Appended, Journal, JournalError};
use jackfield_store_sqlite::{ReadOnlyJournal, SqliteJournal};
use rusqlite::{Connection, params};

use crate::harness::{Place, append, session, spending};

fn log(journal: &impl Journal) -> &dyn SpendingLog {
    journal.spending().expect("a log")
}

async fn record(journal: &SqliteJournal, records: &[SpendingRecord]) {
    for record in records {
        log(journal).record(record).await.expect("recorded");
    }
}

async fn all(journal: &impl Journal) -> SpendingPage {
    let query = SpendingQuery {
        limit: 10_000,
        ..SpendingQuery::default()
    };
    log(journal).records(&query).await.expect("a page")
}

async fn check(journal: &SqliteJournal) -> CheckReport {
    let checked = journal.check(Duration::from_secs(60), Box::new(|_| {}));
    checked.await.expect("a report")
}

/// Adds a row, as another program does it.
fn add(file: &Connection, id: &str, millis: i64, vocabulary: i64, record: &[u8]) {
    let at = spending(id, millis).at.as_millis();
    file.execute(
        "INSERT INTO spending (id, at, vocabulary, record) VALUES (?1, ?2, ?3, ?4)",
        params![id, at, vocabulary, record],
    )
    .expect("a row");
}

#[tokio::test]
async fn a_file_of_the_fifth_form_gets_a_log_and_keeps_its_sessions() {
    let place = Place::new();
    let journal = place.open();
    let s = session("s");
    let epoch = journal.own(&s).await.expect("a lease").epoch;
    let appended = journal.append(&append(&s, epoch, 0)).await;
    assert!(matches!(appended, Appended::Committed), "{appended:?}");
    let before = journal.load(&s).await.expect("the session");
    journal.close().await;
    drop(journal);
    let file = Connection::open(place.file()).expect("a database");
    file.execute_batch("DROP TABLE upstream_responses; DROP TABLE logins; DROP TABLE meters; DROP TABLE key_secrets; DROP TABLE sealed_secrets; DROP TABLE directory; DROP TABLE titles; ALTER TABLE sessions DROP COLUMN pinned; ALTER TABLE sessions DROP COLUMN archived; DROP TABLE spending; PRAGMA user_version = 5")
        .expect("the fifth form");
    drop(file);
    let journal = place.open();
    assert_eq!(journal.load(&s).await.expect("the session"), before);
    assert_eq!(all(&journal).await, SpendingPage::default());
    let records = [spending("a", 0), spending("b", 1)];
    record(&journal, &records).await;
    assert_eq!(all(&journal).await.records, records);
    assert_eq!(check(&journal).await.damage, [""; 0]);
}

#[tokio::test]
async fn a_record_that_cannot_be_read_does_not_hide_the_others() {
    let place = Place::new();
    let journal = place.open();
    record(&journal, &[spending("a", 0), spending("z", 9)]).await;
    let known = jackfield_record::encode_spending(&spending("b", 1)).expect("a record");
    let text = String::from_utf8(known.clone()).expect("text");
    let file = Connection::open(place.file()).expect("a database");
    // A field of a newer vocabulary, and a newer form.
    let field = text.replace("\"endpoint\"", "\"colour\":1,\"endpoint\"");
    add(&file, "b", 1, 99, field.as_bytes());
    let form = text.replace("\"v\":1", "\"v\":2");
    add(&file, "c", 1, 4, form.as_bytes());
    // Damage: no record, and that of another row.
    add(&file, "d", 2, 4, b"{}");
    add(&file, "e", 2, 4, &known);
    drop(file);
    let page = all(&journal).await;
    assert_eq!(page.records, [spending("a", 0), spending("z", 9)]);
    let unreadable: Vec<&str> = page.unreadable.iter().map(|id| &**id).collect();
    assert_eq!(unreadable, ["b", "c", "d", "e"]);
    // A page without any record is not the last one.
    let mut query = SpendingQuery {
        limit: 2,
        ..SpendingQuery::default()
    };
    let mut sizes = Vec::new();
    loop {
        let page = log(&journal).records(&query).await.expect("a page");
        sizes.push((page.records.len(), page.unreadable.len()));
        query.after = page.next;
        if query.after.is_none() {
            break;
        }
    }
    assert_eq!(sizes, [(1, 1), (0, 2), (1, 1), (0, 0)]);
    let checked = check(&journal).await;
    assert_eq!(checked.newer_spending, 2);
    let [malformed, different] = checked.damage.as_slice() else {
        panic!("{checked:?}");
    };
    assert!(malformed.starts_with("spending record \"d\": the record is malformed"));
    assert!(different.starts_with("spending record \"e\": its row"));
    assert!(checked.is_complete);
}

#[tokio::test]
async fn the_size_limit_holds_for_spending_records() {
    let place = Place::new();
    let mut options = place.options();
    options.max_bytes = Some(60 * 4096);
    let journal = SqliteJournal::open(place.file(), options).expect("a journal");
    let mut recorded = 0;
    let error = loop {
        let next = spending(&format!("{recorded:06}"), recorded);
        match log(&journal).record(&next).await {
            Ok(_) => recorded += 1,
            Err(error) => break error,
        }
        assert!(recorded < 10_000, "there is no limit");
    };
    let JournalError::Unreachable { source } = error else {
        panic!("{error:?}");
    };
    assert!(source.to_string().contains("make room"), "{source}");
    let records = all(&journal).await.records;
    assert_eq!(i64::try_from(records.len()), Ok(recorded));
    assert!(recorded > 50, "{recorded}");
    assert!(journal.size().await.expect("a size") <= 60 * 4096);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_of_requests_that_end_together_are_all_stored() {
    let place = Place::new();
    let journal = Arc::new(place.open());
    let mut requests = tokio::task::JoinSet::new();
    for nth in 0..64 {
        let journal = Arc::clone(&journal);
        // Each is recorded twice, as by a caller that got no answer.
        let record = spending(&format!("{:02}", nth / 2), nth / 2);
        requests.spawn(async move { log(&*journal).record(&record).await });
    }
    for recorded in requests.join_all().await {
        recorded.expect("recorded");
    }
    journal.close().await;
    let expected: Vec<_> = (0..32)
        .map(|nth| spending(&format!("{nth:02}"), nth))
        .collect();
    assert_eq!(all(&place.open()).await.records, expected);
}

#[tokio::test]
async fn a_file_that_is_opened_to_be_read_shows_its_records_and_takes_none() {
    let place = Place::new();
    let journal = place.open();
    let records = [spending("a", 0)];
    record(&journal, &records).await;
    journal.close().await;
    let reading = ReadOnlyJournal::open(place.file()).expect("a journal");
    assert_eq!(all(&reading).await.records, records);
    let refused = log(&reading).record(&spending("b", 1)).await;
    let Err(JournalError::Unreachable { source }) = refused else {
        panic!("{refused:?}");
    };
    assert!(source.to_string().contains("cannot be written"), "{source}");
    assert_eq!(all(&reading).await.records, records);
}

#[tokio::test]
async fn the_records_of_a_file_outlive_its_sessions() {
    let place = Place::new();
    let journal = place.open();
    let s = session("s");
    let epoch = journal.own(&s).await.expect("a lease").epoch;
    let records = [spending("a", 0)];
    record(&journal, &records).await;
    journal.release(&s, epoch).await.expect("released");
    journal.delete(&s).await.expect("deleted");
    assert_eq!(all(&journal).await.records, records);
    assert_eq!(check(&journal).await.damage, [""; 0]);
}
