//! Databases that are slow or full, and clocks that jump: what they say, and that they heal.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jackfield_ports::journal::{AppendRefusal, Appended, Journal as _, JournalError, Outage};
use jackfield_store_postgres::PostgresJournal;

use crate::harness::{Place, append, session, step};

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_slow_is_told_from_one_that_is_gone_and_heals() {
    let place = Place::new();
    let mut options = place.options();
    options.timeout = Duration::from_millis(400);
    let journal = PostgresJournal::open(place.address.clone(), options).expect("a journal");
    let id = session("s");
    let epoch = journal.own(&id).await.expect("a lease").epoch;
    let sql = place.schema.clone();
    let locking = std::thread::spawn(move || {
        let statements = format!("BEGIN; LOCK TABLE {sql}.sessions; SELECT pg_sleep(3); COMMIT");
        crate::harness::SERVER.sql(&statements).expect("locked");
    });
    let locked = "SELECT count(*) FROM pg_locks WHERE relation = '@.sessions'::regclass AND mode = 'AccessExclusiveLock'
         AND granted";
    let began = Instant::now();
    while place.sql(locked) == "0" {
        assert!(began.elapsed() < LIMIT, "nothing locks");
    }
    let asked = Instant::now();
    let error = journal.exists(&id).await.expect_err("it is slow");
    assert!(matches!(error, JournalError::Unreachable { .. }), "{error}");
    assert_eq!(Outage::of(&error), Some(Outage::Slow), "{error:?}");
    let unknown = journal.append(&append(&id, epoch, 0)).await;
    let took = asked.elapsed();
    let Appended::Unknown(why) = unknown else {
        panic!("{unknown:?}");
    };
    assert!(
        why.to_string().contains("it gave no answer in time"),
        "{why}"
    );
    assert!(took < Duration::from_millis(2800), "{took:?}");
    locking.join().expect("unlocked");
    let appended = journal.append(&append(&id, epoch, 0)).await;
    assert!(matches!(appended, Appended::Committed), "{appended:?}");
    assert_eq!(journal.load(&id).await.expect("loaded").steps, [step(0)]);
    journal.close().await;
}

/// While a table is locked, as by `VACUUM FULL` or a migration, requests come, time out and are given up: the server has
/// no more to do for them than there are connections, and is free when the lock is.
#[tokio::test(flavor = "multi_thread")]
async fn statements_that_wait_for_a_lock_are_no_more_than_the_connections() {
    let place = Place::new();
    let mut options = place.options();
    options.timeout = Duration::from_secs(1);
    let connections = options.connections;
    let journal = PostgresJournal::open(place.address.clone(), options).expect("a journal");
    let journal = Arc::new(journal);
    let id = session("s");
    let epoch = journal.own(&id).await.expect("a lease").epoch;
    let sql = place.schema.clone();
    let locking = std::thread::spawn(move || {
        let statements = format!("BEGIN; LOCK TABLE {sql}.sessions; SELECT pg_sleep(4); COMMIT");
        crate::harness::SERVER.sql(&statements).expect("locked");
    });
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%@.%'";
    let mut most = 0;
    while most == 0 || !locking.is_finished() {
        for nth in 0..20 {
            let (journal, id) = (Arc::clone(&journal), id.clone());
            // Each third client loses patience.
            let patience = Duration::from_millis(if nth % 3 == 0 { 20 } else { 5_000 });
            tokio::spawn(async move {
                let asking = async {
                    match nth % 2 {
                        0 => drop(journal.exists(&id).await),
                        _ => drop(journal.append(&append(&id, epoch, 0)).await),
                    }
                };
                let _patience = tokio::time::timeout(patience, asking).await;
            });
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        most = most.max(place.sql(waiting).parse().expect("a number"));
        assert!(most <= connections, "{most} statements wait");
    }
    locking.join().expect("unlocked");
    let began = Instant::now();
    while journal.exists(&id).await.is_err() {
        assert!(began.elapsed() < LIMIT, "it does not heal");
    }
    let appended = journal.append(&append(&id, epoch, 0)).await;
    assert!(matches!(appended, Appended::Committed), "{appended:?}");
    // Those that waited one for another are done, too.
    while place.sql(waiting) != "0" {
        assert!(began.elapsed() < LIMIT, "some wait for ever");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    journal.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_whose_disk_is_full_says_what_to_do_and_heals() {
    let place = Place::new();
    let journal = place.open();
    let id = session("s");
    let epoch = journal.own(&id).await.expect("a lease").epoch;
    // As the server says it when it cannot extend a file.
    place.sql(
        "CREATE FUNCTION @.full() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$;
         CREATE TRIGGER full_disk BEFORE INSERT ON @.steps EXECUTE FUNCTION @.full()",
    );
    let refused = journal.append(&append(&id, epoch, 0)).await;
    let Appended::Refused(AppendRefusal::Unwritable { why }) = refused else {
        panic!("{refused:?}");
    };
    assert!(why.contains("its disk is full: make room"), "{why}");
    assert!(journal.load(&id).await.expect("loaded").steps.is_empty());
    place.sql("DROP TRIGGER full_disk ON @.steps");
    let appended = journal.append(&append(&id, epoch, 0)).await;
    assert!(matches!(appended, Appended::Committed), "{appended:?}");
    journal.close().await;
}

/// Another process brings the tables to a newer form, or an older copy of them is restored.
#[tokio::test]
async fn tables_of_another_form_are_noticed_and_so_is_their_return() {
    let place = Place::new();
    let journal = place.open();
    journal.check_form().await.expect("its own form");
    let form = place.sql("SELECT form FROM @.journal");
    for (other, expected) in [("form + 1", Outage::Newer), ("form - 1", Outage::Older)] {
        place.sql(&format!("UPDATE @.journal SET form = {other}"));
        let error = journal.check_form().await.expect_err("another form");
        assert_eq!(Outage::of(&error), Some(expected), "{error:?}");
        place.sql(&format!("UPDATE @.journal SET form = {form}"));
        journal.check_form().await.expect("its own form again");
    }
    place.sql("ALTER TABLE @.journal RENAME TO gone");
    let error = journal.check_form().await.expect_err("no table");
    assert_eq!(Outage::of(&error), Some(Outage::Older), "{error:?}");
    journal.close().await;
}

/// A jump ahead of the database's clock ends leases early: the former owner writes nothing more, and begins again.
#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_jumps_ahead_gives_no_session_two_writers() {
    let place = Place::new();
    let (former, other) = (place.open(), place.open());
    let id = session("s");
    let epoch = former.own(&id).await.expect("a lease").epoch;
    place.sql("UPDATE @.processes SET alive_until = alive_until - interval '1 hour'");
    let taken = other.own(&id).await.expect("a lease").epoch;
    assert!(taken > epoch);
    let late = former.append(&append(&id, epoch, 0)).await;
    let is_stale = matches!(late, Appended::Refused(AppendRefusal::StaleEpoch));
    assert!(is_stale, "{late:?}");
    let appended = other.append(&append(&id, taken, 0)).await;
    assert!(matches!(appended, Appended::Committed), "{appended:?}");
    let another = session("another");
    former.own(&another).await.expect("it begins again");
    let refused = former.own(&id).await.expect_err("it is owned");
    assert!(matches!(refused, JournalError::Owned { .. }), "{refused}");
    former.close().await;
    other.close().await;
}

const LIMIT: Duration = Duration::from_secs(60);
