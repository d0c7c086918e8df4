//! Letting go: whatever becomes of whoever owned a session, others can own it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use jackfield_domain::ids::SessionId;
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::tool::Safety;
use jackfield_engine::{Engine, EngineError, KeeperOptions, ResumeSession};
use jackfield_ports::journal::sessions::{DueSessions, SessionQuery};
use jackfield_ports::journal::{Epoch, Journal, JournalError, Lease, Loaded};
use jackfield_store_memory::MemoryJournal;
use jackfield_testkit::mocks::MockJournal;
use tokio::sync::Notify;

use crate::fixture::{Log, OneTool, Rounds, engine, message, options, session};

/// An engine whose tool is at work for ever, and what tells that it is.
fn at_work_for_ever(journal: Arc<dyn Journal>) -> (Engine, Arc<Notify>) {
    let log = Log::default();
    let model = Rounds::once(&log, 1);
    let called = Arc::new(Notify::new());
    let at_work = Arc::clone(&called);
    let mut tool = OneTool::new(&log, move |_| {
        at_work.notify_one();
        std::future::pending::<ToolResult>()
    });
    tool.spec.safety = Safety::ReadOnly;
    (engine(model, tool, journal), called)
}

async fn is_owned(journal: &MemoryJournal) -> bool {
    let query = SessionQuery {
        limit: 1,
        ..SessionQuery::default()
    };
    let rows = journal.sessions(&query).await.expect("it can be read");
    rows.first().expect("a session").owned
}

async fn let_go(journal: &MemoryJournal) {
    // No time passes while this looks, so that it is turns that are counted.
    for _ in 0..10_000 {
        if !is_owned(journal).await {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("it is owned still");
}

fn unreachable() -> JournalError {
    let source = "nobody there".into();
    JournalError::Unreachable { source }
}

#[tokio::test(start_paused = true)]
async fn a_message_that_is_dropped_lets_go_of_its_session() {
    let journal = Arc::new(MemoryJournal::default());
    let (engine, called) = at_work_for_ever(Arc::clone(&journal) as Arc<dyn Journal>);
    let mut nobody = ();
    tokio::select! {
        report = engine.send(message(options()), &mut nobody) => panic!("it ended: {report:?}"),
        () = called.notified() => assert!(is_owned(&journal).await),
    }
    let_go(&journal).await;
    let resume = ResumeSession::new(session(), options().policy);
    tokio::select! {
        driven = engine.resume(resume, &mut nobody) => panic!("it ended: {driven:?}"),
        () = called.notified() => assert!(is_owned(&journal).await),
    }
    let_go(&journal).await;
}

#[tokio::test(start_paused = true)]
async fn a_keeper_that_is_dropped_lets_go_of_what_it_keeps() {
    let journal = Arc::new(MemoryJournal::default());
    let (engine, called) = at_work_for_ever(Arc::clone(&journal) as Arc<dyn Journal>);
    let mut nobody = ();
    tokio::select! {
        report = engine.send(message(options()), &mut nobody) => panic!("it ended: {report:?}"),
        () = called.notified() => {}
    }
    let_go(&journal).await;
    let keeper = engine.spawn_keeper(KeeperOptions::new(options().policy), |_| {});
    called.notified().await;
    assert!(is_owned(&journal).await);
    drop(keeper);
    let_go(&journal).await;
}

#[tokio::test(start_paused = true)]
async fn a_session_that_cannot_be_read_is_let_go_of() {
    let released = Arc::new(Notify::new());
    let told = Arc::clone(&released);
    let mut journal = MockJournal::new();
    journal
        .expect_own()
        .returning(|_| Ok(Lease::unlimited(Epoch(7))));
    journal.expect_load().returning(|_| Err(unreachable()));
    let release = journal.expect_release();
    release.times(1).returning(move |known, epoch| {
        assert_eq!((known, epoch), (&session(), Epoch(7)));
        told.notify_one();
        Ok(())
    });
    let (engine, _) = at_work_for_ever(Arc::new(journal));
    let sent = engine.send(message(options()), &mut ()).await;
    assert!(matches!(sent, Err(EngineError::Journal(_))), "{sent:?}");
    let released = tokio::time::timeout(Duration::from_secs(60), released.notified()).await;
    released.expect("it is let go of");
}

#[tokio::test(start_paused = true)]
async fn to_be_resumed_a_session_is_read_once() {
    let mut journal = MockJournal::new();
    journal.expect_exists().returning(|_| Ok(true));
    journal
        .expect_own()
        .returning(|_| Ok(Lease::unlimited(Epoch(1))));
    let load = journal.expect_load().times(1);
    load.returning(|_| Ok(Loaded::default()));
    journal.expect_release().times(1).returning(|_, _| Ok(()));
    let (engine, _) = at_work_for_ever(Arc::new(journal));
    let resume = ResumeSession::new(session(), options().policy);
    let resumed = engine.resume(resume, &mut ()).await;
    let nothing = matches!(resumed, Err(EngineError::NothingOpen { .. }));
    assert!(nothing, "{resumed:?}");
}

#[tokio::test(start_paused = true)]
async fn a_keeper_forgets_what_is_gone() {
    let asked: Arc<Mutex<Vec<usize>>> = Arc::default();
    let told = Arc::clone(&asked);
    let mut journal = MockJournal::new();
    // Five are due at first, and cannot be had; then they are gone.
    journal.expect_due().returning(move |_, most| {
        let mut asked = told.lock().expect("no panic under the lock");
        let is_first = asked.is_empty();
        asked.push(most);
        let due = (0..if is_first { 5 } else { 0 })
            .map(|n| SessionId::parse(&format!("s{n}")).expect("a valid id"));
        Ok(DueSessions {
            next: None,
            sessions: due.collect(),
        })
    });
    journal.expect_own().returning(|session| {
        Err(JournalError::Corrupt {
            session: session.clone(),
            source: "damaged".into(),
        })
    });
    let (engine, _) = at_work_for_ever(Arc::new(journal));
    let options = KeeperOptions::new(options().policy);
    let at_once = options.max_concurrent;
    let keeper = engine.spawn_keeper(options, |_| {});
    tokio::time::sleep(Duration::from_secs(1200)).await;
    drop(keeper);
    let asked = asked.lock().expect("no panic under the lock");
    assert_eq!(
        asked.iter().max(),
        Some(&(at_once + 5)),
        "all of them failed"
    );
    assert_eq!(asked.last(), Some(&at_once), "none of them is remembered");
}
