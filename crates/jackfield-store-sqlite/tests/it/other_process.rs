//! Two real processes on one file: this test's program is started once more, as the other one.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use jackfield_domain::time::WallTime;
use jackfield_ports::journal::{Appended, Epoch, Journal as _, JournalError, Lease};
use jackfield_store_sqlite::{Options, SqliteJournal};

use crate::harness::{Place, append, session};

/// Says to be the other process, and for which file.
const FILE: &str = "JACKFIELD_TEST_OTHER_PROCESS";

/// The other process: does what it is told, a word a line, and says when it has.
#[test]
fn as_the_other_process() {
    let Some(file) = std::env::var_os(FILE) else {
        return;
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let journal = runtime.block_on(async {
        SqliteJournal::open(Path::new(&file), Options::default()).expect("a journal")
    });
    let s = session("s");
    let (mut epoch, mut position) = (Epoch(0), 0);
    println!("ready");
    for line in std::io::stdin().lines() {
        runtime.block_on(async {
            match line.expect("a line").as_str() {
                "own" => epoch = journal.own(&s).await.expect("a lease").epoch,
                "append" => {
                    let appended = journal.append(&append(&s, epoch, position)).await;
                    assert!(matches!(appended, Appended::Committed), "{appended:?}");
                    position += 1;
                }
                "release" => journal.release(&s, epoch).await.expect("released"),
                "delete" => journal.delete(&s).await.expect("deleted"),
                other => panic!("{other}"),
            }
        });
        println!("done");
    }
}

/// The other process, as seen from here. Ends with its owner.
struct Other {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Other {
    fn start(place: &Place) -> Self {
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args([
                "--exact",
                "other_process::as_the_other_process",
                "--nocapture",
            ])
            .env(FILE, place.file())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a process");
        let stdin = child.stdin.take().expect("its input");
        let stdout = BufReader::new(child.stdout.take().expect("its output"));
        let mut other = Self {
            child,
            stdin,
            stdout,
        };
        other.expect("ready");
        other
    }

    fn expect(&mut self, word: &str) {
        let mut line = String::new();
        loop {
            line.clear();
            let read = self.stdout.read_line(&mut line).expect("a line");
            assert!(read > 0, "the other process ended");
            if line.trim_end().ends_with(word) {
                return;
            }
        }
    }

    /// Tells it to do something, and waits until it is done.
    fn tell(&mut self, word: &str) {
        writeln!(self.stdin, "{word}").expect("told");
        self.expect("done");
    }

    fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args([name, &id]).status();
        assert!(sent.expect("a signal").success());
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _gone = self.child.wait();
    }
}

async fn soon<T>(what: impl Future<Output = T>) -> T {
    let what = tokio::time::timeout(Duration::from_secs(60), what);
    what.await.expect("it comes")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_another_process_appends_and_deletes_is_followed() {
    let place = Place::new();
    let journal = place.open();
    let mut other = Other::start(&place);
    let s = session("s");
    other.tell("own");
    for from in 0..3 {
        let follow = journal.follow(&s, from);
        tokio::pin!(follow);
        let early = tokio::time::timeout(Duration::ZERO, &mut follow).await;
        assert!(early.is_err(), "{early:?}");
        other.tell("append");
        let steps = soon(follow).await.expect("steps");
        assert_eq!(steps.len(), 1);
    }
    let owned = journal.delete(&s).await;
    assert!(
        matches!(owned, Err(JournalError::Owned { .. })),
        "{owned:?}"
    );
    let due = || journal.due(WallTime::from_millis(i64::MAX), 9);
    assert_eq!(due().await.expect("a list").sessions, []);
    other.tell("release");
    let follow = journal.follow(&s, 3);
    tokio::pin!(follow);
    let early = tokio::time::timeout(Duration::ZERO, &mut follow).await;
    assert!(early.is_err(), "{early:?}");
    other.tell("delete");
    let gone = soon(follow).await;
    let unknown = matches!(gone, Err(JournalError::UnknownSession { .. }));
    assert!(unknown, "{gone:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_is_stopped_is_not_dead_and_one_that_is_killed_is_at_once() {
    let place = Place::new();
    let journal = place.open();
    let mut other = Other::start(&place);
    let s = session("s");
    other.tell("own");
    other.tell("append");
    other.signal("-STOP");
    let owned =
        |result: Result<Lease, JournalError>| matches!(result, Err(JournalError::Owned { .. }));
    assert!(owned(journal.own(&s).await));
    assert!(matches!(
        journal.delete(&s).await,
        Err(JournalError::Owned { .. })
    ));
    other.signal("-CONT");
    other.tell("append");
    assert!(owned(journal.own(&s).await));
    other.signal("-STOP");
    other.child.kill().expect("killed");
    other.child.wait().expect("gone");
    let killed = Instant::now();
    let epoch = journal.own(&s).await.expect("a lease").epoch;
    assert!(
        killed.elapsed() < Duration::from_secs(2),
        "{:?}",
        killed.elapsed()
    );
    assert_eq!(epoch, Epoch(2));
    let appended = journal.append(&append(&s, epoch, 2)).await;
    assert!(matches!(appended, Appended::Committed), "{appended:?}");
}
