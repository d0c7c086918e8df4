//! Connections that break, and databases that are gone for a while.

use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use jackfield_domain::fact::Fact;
use jackfield_domain::ids::{ToolCallId, WaitId};
use jackfield_domain::time::WallTime;
use jackfield_domain::wait::{Wait, WaitKind};
use jackfield_ports::journal::{
    Append, AppendRefusal, Appended, DeliveryOutcome, Journal as _, JournalError, Outage,
};
use jackfield_store_postgres::PostgresJournal;
use jackfield_testkit::contract::journal::START;
use jackfield_testservers::postgres::PostgresServer;

use crate::harness::{Place, SERVER, address, append, cancel, delivery, session, step};
use crate::proxy::{Cut, Proxy};

/// A journal behind a proxy, which gives up after a second.
async fn behind_proxy(place: &Place) -> (Proxy, PostgresJournal) {
    let proxy = Proxy::start(SERVER.socket()).await;
    let url = format!("postgres://postgres@127.0.0.1:{}/postgres", proxy.port);
    let mut options = place.options();
    options.timeout = Duration::from_secs(1);
    let opening = tokio::task::spawn_blocking(move || {
        PostgresJournal::open(address(&url), options).expect("a journal")
    });
    (proxy, opening.await.expect("opened"))
}

/// An append that opens a wait, and so needs a transaction.
fn append_with_wait(before: &Append) -> Append {
    let wait = Wait {
        call: ToolCallId::parse("call").expect("a valid id"),
        deadline: WallTime::from_millis(START.as_millis() + 60_000),
        id: WaitId::parse("asked").expect("a valid id"),
        kind: WaitKind::Approval { subject: None },
    };
    let mut opened = step(before.position + 1);
    opened.facts = vec![Fact::WaitOpened { wait }];
    Append {
        position: before.position + 1,
        steps: vec![opened],
        ..before.clone()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_append_whose_answer_was_lost_is_asked_again_and_is_there_once() {
    for cut in [Cut::After, Cut::Before] {
        let place = Place::new();
        let (proxy, journal) = behind_proxy(&place).await;
        let id = session("s");
        let epoch = journal.own(&id).await.expect("a lease").epoch;
        let alone = append(&id, epoch, 0);
        let within = append_with_wait(&alone);
        for (nth, append) in [&alone, &within].into_iter().enumerate() {
            proxy.set(cut);
            let appended = journal.append(append).await;
            assert!(
                matches!(appended, Appended::Committed),
                "{cut:?} {appended:?}"
            );
            assert_eq!(proxy.cuts(), nth + 1, "{cut:?}");
        }
        let steps = [alone.steps.clone(), within.steps.clone()].concat();
        assert_eq!(journal.load(&id).await.expect("loaded").steps, steps);
        let rows = place.sql("SELECT count(*) FROM @.steps");
        assert_eq!(rows, "2");
        // Another step at that place is no repetition, and a stale owner is none to be asked.
        let other = Append {
            steps: vec![step(0), step(1)],
            ..alone.clone()
        };
        let refused = journal.append(&other).await;
        assert!(
            matches!(refused, Appended::Refused(AppendRefusal::Position)),
            "{refused:?}"
        );
        journal.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_whose_answer_was_lost_is_there_once() {
    let place = Place::new();
    let (proxy, journal) = behind_proxy(&place).await;
    let id = session("s");
    journal.own(&id).await.expect("a lease");
    proxy.set(Cut::After);
    let delivering = journal.deliver(&id, delivery("d"), "a person".into(), cancel(&id));
    let delivered = delivering.await.expect("an answer");
    assert_eq!(delivered, DeliveryOutcome::AlreadyThere);
    assert_eq!(proxy.cuts(), 1);
    assert_eq!(journal.inbox(&id, 0).await.expect("the inbox").len(), 1);
    journal.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_append_without_an_answer_is_unknown_and_committed_later() {
    let place = Place::new();
    let (proxy, journal) = behind_proxy(&place).await;
    let id = session("s");
    let epoch = journal.own(&id).await.expect("a lease").epoch;
    proxy.set(Cut::Down);
    let began = Instant::now();
    let unknown = journal.append(&append(&id, epoch, 0)).await;
    let Appended::Unknown(why) = unknown else {
        panic!("{unknown:?}");
    };
    assert!(
        began.elapsed() < Duration::from_secs(4),
        "{:?}",
        began.elapsed()
    );
    let why = why.to_string();
    let place_shown = format!("postgres://postgres@127.0.0.1:{}/postgres: ", proxy.port);
    assert!(why.starts_with(&place_shown), "{why}");
    assert!(journal.load(&id).await.is_err());
    proxy.set(Cut::Never);
    let appended = journal.append(&append(&id, epoch, 0)).await;
    assert!(matches!(appended, Appended::Committed), "{appended:?}");
    assert_eq!(journal.load(&id).await.expect("loaded").steps, [step(0)]);
    journal.close().await;
}

/// What was sent before the network went silent arrives when it is back, and is repeated beside: by then the client may
/// have asked another process.
#[tokio::test(flavor = "multi_thread")]
async fn an_append_that_arrives_after_the_lease_begins_nothing_and_still_records_what_was_done() {
    for is_known in [true, false] {
        let place = Place::new();
        let (proxy, journal) = behind_proxy(&place).await;
        let id = session("s");
        let epoch = journal.own(&id).await.expect("a lease").epoch;
        let sent = append(&id, epoch, 0);
        let mut recorded = append_with_wait(&sent);
        recorded.position = 0;
        recorded.steps[0].step = 0;
        let sent = if is_known {
            sent
        } else {
            // One with a wait is written in a transaction.
            let mut sent = sent;
            sent.steps[0].facts.extend(recorded.steps[0].facts.clone());
            sent
        };
        proxy.set(Cut::Silent);
        let appending = tokio::spawn(async move {
            let appended = journal.append(&sent).await;
            (journal, appended)
        });
        if is_known {
            while !proxy.holds_append() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
        place.sql("UPDATE @.processes SET alive_until = now() - interval '1 second'");
        proxy.set(Cut::Never);
        let (journal, appended) = appending.await.expect("no panic");
        let is_stale = matches!(appended, Appended::Refused(AppendRefusal::StaleEpoch));
        assert!(is_stale, "{appended:?}");
        assert_eq!(place.sql("SELECT count(*) FROM @.steps"), "0");
        let appended = journal.append(&recorded).await;
        assert!(matches!(appended, Appended::Committed), "{appended:?}");
        journal.close().await;
    }
}

/// A connection is cut within a statement that has locked a row, and its server never learns of it: no time limit of
/// a server applies there.
#[tokio::test(flavor = "multi_thread")]
async fn a_row_is_free_again_after_a_connection_was_cut_within_a_statement() {
    let place = Place::new();
    let proxy = Proxy::start(SERVER.socket()).await;
    let url = format!("postgres://postgres@127.0.0.1:{}/postgres", proxy.port);
    let mut options = place.options();
    // So often do processes look.
    options.lease = Duration::from_secs(2);
    options.timeout = Duration::from_secs(1);
    let (cut_off_options, other_options) = (options.clone(), options);
    let opening = tokio::task::spawn_blocking(move || {
        PostgresJournal::open(address(&url), cut_off_options).expect("a journal")
    });
    let cut_off = opening.await.expect("opened");
    let other = PostgresJournal::open(place.address.clone(), other_options).expect("a journal");
    other.own(&session("another")).await.expect("a lease");
    let id = session("s");
    let epoch = cut_off.own(&id).await.expect("a lease").epoch;
    proxy.set(Cut::Within);
    let appended = cut_off.append(&append(&id, epoch, 0)).await;
    let cuts = proxy.cuts();
    assert_eq!(cuts, 1, "{appended:?}");
    let began = Instant::now();
    while let Err(error) = other
        .deliver(&id, delivery("d"), "ann".into(), cancel(&id))
        .await
    {
        assert_eq!(Outage::of(&error), Some(Outage::Slow), "{error:?}");
        let waited = began.elapsed();
        assert!(waited < Duration::from_secs(60), "it stays locked");
    }
    other.close().await;
    cut_off.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_without_a_network_loses_its_sessions_after_its_lease_and_not_before() {
    let place = Place::new();
    let proxy = Proxy::start(SERVER.socket()).await;
    let url = format!("postgres://postgres@127.0.0.1:{}/postgres", proxy.port);
    let mut options = place.options();
    options.lease = Duration::from_secs(2);
    options.timeout = Duration::from_secs(1);
    let (cut_off_options, other_options) = (options.clone(), options);
    let opening = tokio::task::spawn_blocking(move || {
        PostgresJournal::open(address(&url), cut_off_options).expect("a journal")
    });
    let cut_off = opening.await.expect("opened");
    let other = PostgresJournal::open(place.address.clone(), other_options).expect("a journal");
    let id = session("s");
    let lease = cut_off.own(&id).await.expect("a lease");
    let written = append(&id, lease.epoch, 0);
    assert!(matches!(
        cut_off.append(&written).await,
        Appended::Committed
    ));
    // It lives, and is not given away.
    assert!(other.own(&id).await.is_err());
    let held = session("held");
    let epoch = other.own(&held).await.expect("a lease").epoch;
    other.release(&held, epoch).await.expect("released");
    let _hold = cut_off.hold(&held).await.expect("a hold");
    let began = Instant::now();
    proxy.set(Cut::Down);
    let mut refusals = 0;
    let taken = loop {
        match other.own(&id).await {
            Ok(taken) => break taken,
            Err(_) => refusals += 1,
        }
        let waited = began.elapsed();
        assert!(
            waited < Duration::from_secs(60),
            "{waited:?} after {refusals} refusals"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    let took = began.elapsed();
    assert!(
        lease.deadline.has_passed(),
        "{lease:?}, taken after {took:?}"
    );
    assert!(
        took < Duration::from_secs(3),
        "{took:?} after {refusals} refusals"
    );
    assert!(taken.epoch > lease.epoch);
    proxy.set(Cut::Never);
    let late = cut_off.append(&append(&id, lease.epoch, 1)).await;
    assert!(
        matches!(late, Appended::Refused(AppendRefusal::StaleEpoch)),
        "{late:?}"
    );
    // It goes on under another name, and so does what it holds, although nothing is asked for.
    let holds = "SELECT count(*) FROM @.holds JOIN @.processes ON name = process WHERE alive_until > clock_timestamp()";
    let waiting = Instant::now();
    while place.sql(holds) != "1" {
        assert!(
            waiting.elapsed() < Duration::from_secs(60),
            "no hold came back"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let refused = other.delete(&held).await.expect_err("it is held");
    assert!(matches!(refused, JournalError::Held { .. }), "{refused}");
    let another = session("another");
    let begun = cut_off.own(&another).await.expect("a lease");
    assert!(!begun.deadline.has_passed());
    for journal in [cut_off, other] {
        journal.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_crashes_and_comes_back_is_waited_for() {
    let mut server = PostgresServer::start().expect("a server");
    let place = Place::new();
    let url = server.url("postgres", "postgres");
    let journal = PostgresJournal::open(address(&url), place.options()).expect("a journal");
    let journal = Arc::new(journal);
    let id = session("s");
    let epoch = journal.own(&id).await.expect("a lease").epoch;
    let first = append(&id, epoch, 0);
    assert!(matches!(journal.append(&first).await, Appended::Committed));
    server.crash().expect("ended");
    let (appending, second) = (Arc::clone(&journal), append(&id, epoch, 1));
    let appending = tokio::spawn(async move { appending.append(&second).await });
    server.resume().expect("started");
    let appended = appending.await.expect("an answer");
    assert!(matches!(appended, Appended::Committed), "{appended:?}");
    let steps = journal.load(&id).await.expect("loaded").steps;
    assert_eq!(steps, [step(0), step(1)]);
    journal.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_becomes_readable_only_heals_by_itself() {
    SERVER.sql("CREATE DATABASE turning").expect("made");
    let place = Place::new();
    let url = SERVER.url("postgres", "turning");
    let mut options = place.options();
    options.timeout = Duration::from_millis(500);
    let journal = PostgresJournal::open(address(&url), options.clone()).expect("a journal");
    let id = session("s");
    let epoch = journal.own(&id).await.expect("a lease").epoch;
    let turn = |mode: &str| {
        let set = format!("ALTER DATABASE turning SET default_transaction_read_only = {mode}");
        SERVER.sql(&set).expect("set");
        let end =
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'turning'";
        SERVER.sql(end).expect("ended");
    };
    turn("on");
    // The connections of before are noticed to be gone.
    while !journal.exists(&id).await.unwrap_or_default() {}
    // The database has said that nothing is written.
    let refused = journal.append(&append(&id, epoch, 0)).await;
    let Appended::Refused(AppendRefusal::Unwritable { why }) = refused else {
        panic!("{refused:?}");
    };
    assert!(why.contains("it can only be read"), "{why}");
    let error = journal.own(&session("other")).await;
    let error = error.expect_err("it can only be read");
    assert_eq!(Outage::of(&error), Some(Outage::ReadOnly), "{error:?}");
    let refused = PostgresJournal::open(address(&url), options).expect_err("a standby");
    let refused = refused.to_string();
    assert!(
        refused.contains("can only be read: name the primary"),
        "{refused}"
    );
    turn("off");
    let appended = journal.append(&append(&id, epoch, 0)).await;
    assert!(matches!(appended, Appended::Committed), "{appended:?}");
    journal.close().await;
}

/// A turn keeps a future that waits for deliveries, and does not poll it while it commits.
#[tokio::test(flavor = "multi_thread")]
async fn a_future_that_is_not_polled_keeps_no_connection() {
    let place = Place::new();
    let mut options = place.options();
    options.connections = 1;
    let journal = PostgresJournal::open(place.address.clone(), options).expect("a journal");
    let id = session("s");
    let epoch = journal.own(&id).await.expect("a lease").epoch;
    let mut inbox = journal.inbox(&id, 0);
    let first = std::future::poll_fn(|context| Poll::Ready(inbox.as_mut().poll(context)));
    assert!(first.await.is_pending());
    let appending = append(&id, epoch, 0);
    let appended = tokio::time::timeout(Duration::from_secs(60), journal.append(&appending));
    let appended = appended.await.expect("an answer");
    assert!(matches!(appended, Appended::Committed), "{appended:?}");
}
