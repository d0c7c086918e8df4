//! Commits that are done where they are asked for, and those that are left to the thread.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, ThreadId};
use std::time::Duration;

use jackfield_domain::fact::{Envelope, Fact};
use jackfield_domain::ids::{SessionId, ToolAttempt, ToolCallId};
use jackfield_domain::wait::JobHandle;
use jackfield_ports::journal::{Append, Appended, Epoch, Journal as _};
use jackfield_store_sqlite::SqliteJournal;
use rusqlite::Connection;
use serde_json::Value;

use crate::harness::{Place, append, cancel, delivery, session, step};

/// A journal that does at once what takes less than this, and has seen a commit already.
async fn warm(place: &Place, at_once: Duration) -> SqliteJournal {
    watched(place, at_once).await.0
}

/// Such a journal, and the thread that committed last: the journal asks for the time where it commits.
async fn watched(place: &Place, at_once: Duration) -> (SqliteJournal, LastThread) {
    let mut options = place.options();
    options.inline_limit = at_once;
    let (last, clock) = (LastThread::default(), Arc::clone(&options.clock));
    let seen = Arc::clone(&last.0);
    options.clock = Arc::new(move || {
        *seen.lock().expect("nobody panicked") = Some(thread::current().id());
        clock()
    });
    let journal = SqliteJournal::open(place.file(), options).expect("a journal");
    let s = session("warm");
    let epoch = journal.own(&s).await.expect("a lease").epoch;
    committed(journal.append(&append(&s, epoch, 0)).await);
    journal.release(&s, epoch).await.expect("released");
    (journal, last)
}

/// The thread that committed last.
#[derive(Default)]
struct LastThread(Arc<Mutex<Option<ThreadId>>>);

fn committed(appended: Appended) {
    assert!(matches!(appended, Appended::Committed), "{appended:?}");
}

/// Appends; says whether that was done where it was asked for.
async fn append_at_once((journal, last): &(SqliteJournal, LastThread), append: &Append) -> bool {
    committed(journal.append(append).await);
    *last.0.lock().expect("nobody panicked") == Some(thread::current().id())
}

const ANY: Duration = Duration::from_secs(3600);
/// How long it is seen that something waits.
const WAITED: Duration = Duration::from_millis(100);

#[tokio::test]
async fn a_turn_that_is_alone_commits_where_it_asks() {
    let place = Place::new();
    let watched = watched(&place, ANY).await;
    let journal = &watched.0;
    let s = session("s");
    let epoch = journal.own(&s).await.expect("a lease").epoch;
    assert!(append_at_once(&watched, &append(&s, epoch, 0)).await);
    assert!(append_at_once(&watched, &append(&s, epoch, 1)).await);
    // What it wrote is there for everybody.
    assert_eq!(place.open().load(&s).await.expect("it").steps.len(), 2);
}

#[tokio::test]
async fn turns_side_by_side_leave_it_to_the_thread_until_one_is_alone_again() {
    let place = Place::new();
    let watched = watched(&place, ANY).await;
    let journal = &watched.0;
    let (s, other) = (session("s"), session("other"));
    let epoch = journal.own(&s).await.expect("a lease").epoch;
    let others = journal.own(&other).await.expect("a lease").epoch;
    assert!(!append_at_once(&watched, &append(&s, epoch, 0)).await);
    assert!(!append_at_once(&watched, &append(&other, others, 0)).await);
    journal.release(&other, others).await.expect("released");
    assert!(append_at_once(&watched, &append(&s, epoch, 1)).await);
}

#[tokio::test]
async fn a_slow_disk_holds_up_no_thread_of_the_runtime() {
    let place = Place::new();
    // None is as quick as that.
    let watched = watched(&place, Duration::ZERO).await;
    let journal = &watched.0;
    let s = session("s");
    let epoch = journal.own(&s).await.expect("a lease").epoch;
    for position in 0..3 {
        assert!(!append_at_once(&watched, &append(&s, epoch, position)).await);
    }
}

#[tokio::test]
async fn one_slow_commit_is_remembered_for_a_while() {
    let place = Place::new();
    let watched = watched(&place, Duration::from_millis(2)).await;
    let journal = &watched.0;
    let s = session("s");
    let epoch = journal.own(&s).await.expect("a lease").epoch;
    // No disk takes this in 2 ms, and most take what comes next in less.
    committed(journal.append(&of_bytes(&s, epoch, 0, 32 << 20)).await);
    for position in 1..5 {
        assert!(!append_at_once(&watched, &append(&s, epoch, position)).await);
    }
}

#[tokio::test]
async fn another_process_that_writes_is_waited_for_by_the_thread() {
    let place = Place::new();
    let journal = Arc::new(warm(&place, ANY).await);
    let s = session("s");
    let epoch = journal.own(&s).await.expect("a lease").epoch;
    let other = Connection::open(place.file()).expect("a database");
    other.execute_batch("BEGIN IMMEDIATE").expect("it is held");
    let (its, first) = (Arc::clone(&journal), append(&s, epoch, 0));
    let (begun, waits) = tokio::sync::oneshot::channel();
    let (waited, has_waited) = tokio::sync::oneshot::channel();
    let appending = tokio::spawn(async move {
        let mut appending = pin!(its.append(&first));
        let early = poll_fn(|context| Poll::Ready(appending.as_mut().poll(context))).await;
        assert!(early.is_pending(), "{early:?}");
        begun.send(()).expect("it is heard");
        // The thread has all the time that it needs to find that it cannot have the file yet.
        let early = tokio::time::timeout(WAITED, appending.as_mut()).await;
        assert!(early.is_err(), "{early:?}");
        waited.send(()).expect("it is heard");
        appending.await
    });
    // This runtime has one thread, which would be in the middle of it otherwise.
    waits.await.expect("it waits");
    has_waited.await.expect("it waits for longer");
    other.execute_batch("ROLLBACK").expect("it is free");
    committed(appending.await.expect("it ends"));
}

#[tokio::test]
async fn what_was_asked_for_is_done_though_nobody_waits_for_it() {
    let place = Place::new();
    let journal = warm(&place, ANY).await;
    let s = session("s");
    let epoch = journal.own(&s).await.expect("a lease").epoch;
    let other = Connection::open(place.file()).expect("a database");
    other.execute_batch("BEGIN IMMEDIATE").expect("it is held");
    let first = append(&s, epoch, 0);
    {
        let mut appending = pin!(journal.append(&first));
        let early = poll_fn(|context| Poll::Ready(appending.as_mut().poll(context))).await;
        assert!(early.is_pending(), "{early:?}");
        // Whoever asked goes away; that it was asked for is not taken back.
    }
    other.execute_batch("ROLLBACK").expect("it is free");
    committed(journal.append(&append(&s, epoch, 1)).await);
    assert_eq!(journal.load(&s).await.expect("it").steps.len(), 2);
}

/// Keeps the thread that wakes it until it is let go.
struct Keeps {
    go: Mutex<mpsc::Receiver<()>>,
    woken: mpsc::Sender<()>,
}

impl Wake for Keeps {
    fn wake(self: Arc<Self>) {
        self.woken.send(()).expect("it is heard");
        let _gone = self.go.lock().expect("nobody panicked").recv();
    }
}

#[tokio::test]
async fn nothing_is_done_on_the_spot_before_what_was_asked_for_before() {
    let place = Place::new();
    let journal = warm(&place, ANY).await;
    let (s, other) = (session("s"), session("warm"));
    let epoch = journal.own(&s).await.expect("a lease").epoch;
    // The thread has done something, holds nothing, and gets no further than to tell it.
    let (woken, is_woken) = mpsc::channel();
    let (lets_go, go) = mpsc::channel();
    let go = Mutex::new(go);
    let waker = Waker::from(Arc::new(Keeps { go, woken }));
    // It is not done before anybody waits for it.
    let holder = Connection::open(place.file()).expect("a database");
    holder.execute_batch("BEGIN IMMEDIATE").expect("it is held");
    let mut earlier = pin!(journal.deliver(
        &other,
        delivery("earlier"),
        "somebody".into(),
        cancel(&other)
    ));
    let early = earlier.as_mut().poll(&mut Context::from_waker(&waker));
    assert!(early.is_pending(), "{early:?}");
    holder.execute_batch("ROLLBACK").expect("it is free");
    is_woken.recv().expect("the thread");
    // Somebody asks it for something, and somebody else, who is alone with his session, comes later.
    let mut first = pin!(journal.deliver(
        &other,
        delivery("cancel"),
        "somebody".into(),
        cancel(&other)
    ));
    let early = poll_fn(|context| Poll::Ready(first.as_mut().poll(context))).await;
    assert!(early.is_pending(), "{early:?}");
    let second = append(&s, epoch, 0);
    let mut second = pin!(journal.append(&second));
    let early = poll_fn(|context| Poll::Ready(second.as_mut().poll(context))).await;
    assert!(early.is_pending(), "{early:?}");
    drop(lets_go);
    first.await.expect("delivered");
    committed(second.await);
    earlier.await.expect("delivered");
}

#[tokio::test]
async fn the_log_is_taken_into_the_file_beside_the_turns() {
    let place = Place::new();
    let journal = warm(&place, ANY).await;
    let s = session("s");
    let epoch = journal.own(&s).await.expect("a lease").epoch;
    for position in 0..700 {
        committed(journal.append(&large(&s, epoch, position)).await);
    }
    let log = place.file().with_extension("db-wal");
    let bytes = std::fs::metadata(log).expect("a log").len();
    // All of it would be above 40 MB.
    assert!(bytes < 30_000_000, "{bytes}");
}

/// An append of about 15 pages.
fn large(session: &SessionId, epoch: Epoch, position: u64) -> Append {
    of_bytes(session, epoch, position, 60_000)
}

fn of_bytes(session: &SessionId, epoch: Epoch, position: u64, bytes: usize) -> Append {
    let handle = JobHandle(Arc::new(Value::from("x".repeat(bytes))));
    let call = ToolCallId::parse("call").expect("a valid id");
    let attempt = ToolAttempt { attempt: 1, call };
    Append {
        steps: vec![Envelope {
            facts: vec![Fact::CallAccepted { attempt, handle }],
            ..step(position)
        }],
        ..append(session, epoch, position)
    }
}
