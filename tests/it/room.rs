//! How much is kept, and for how long: by the limit of the file, and by what a gateway deletes.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jackfield_domain::ids::SessionId;
use jackfield_domain::time::WallTime;
use jackfield_ports::journal::Journal as _;
use jackfield_ports::journal::sessions::SessionQuery;
use jackfield_store_sqlite::{Options, SqliteJournal};
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::harness::{Gateway, Kept};

fn id(name: &str) -> SessionId {
    SessionId::parse(name).expect("a valid id")
}

#[tokio::test]
async fn a_gateway_deletes_what_nobody_went_on_with_for_long_and_nothing_else() {
    let files = Kept::new();
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.expect("it is after 1970");
    let clock = Arc::new(AtomicI64::new(0));
    let at = |age: Duration| {
        let then = WallTime::from_millis(0).after(now - age);
        clock.store(then.as_millis(), Ordering::Relaxed);
    };
    let told = Arc::clone(&clock);
    let mut options = Options::default();
    options.clock = Arc::new(move || WallTime::from_millis(told.load(Ordering::Relaxed)));
    let journal = SqliteJournal::open(files.file(), options).expect("a journal");
    let day = Duration::from_secs(24 * 60 * 60);
    for (name, age) in [("old", day * 40), ("older", day * 50), ("young", day * 20)] {
        at(age);
        let epoch = journal.own(&id(name)).await.expect("a lease").epoch;
        journal.release(&id(name), epoch).await.expect("released");
    }
    // Somebody is at work on this one as long as this process lives.
    at(day * 60);
    journal.own(&id("held")).await.expect("a lease");
    let claude = ScriptedClaude::start([]).await;
    let run = files
        .gateway()
        .at_with(&claude.base_url(), "[journal]\nkeep_days = 30\n");
    let run = run.env("JACKFIELD_LOG", "jackfield_engine=info");
    let mut gateway = Gateway::listening(run.start()).await;
    gateway.running.err.until("old sessions were deleted").await;
    let every = SessionQuery {
        limit: 9,
        ..SessionQuery::default()
    };
    let left = journal.sessions(&every).await.expect("a list");
    let left: Vec<&str> = left.iter().map(|row| row.session.as_str()).collect();
    assert_eq!(left, ["young", "held"]);
    gateway.end().await;
}

#[tokio::test]
async fn a_file_that_is_as_large_as_it_may_be_refuses_turns_until_there_is_room() {
    let files = Kept::new();
    let text = "It is a long story. ".repeat(4000);
    let claude = ScriptedClaude::start([ScriptTurn::text(&text).again()]).await;
    let ask = async |session: &str| {
        let run = files.run(&["ask", "--session", session, "Tell me."]);
        let run = run.at_with(&claude.base_url(), "[journal]\nmax_size = \"1MiB\"\n");
        run.run().await
    };
    let mut nth = 0;
    let refused = loop {
        let ran = ask(&format!("s{nth}")).await;
        nth += 1;
        if ran.code != Some(0) {
            break ran;
        }
        assert!(nth < 50, "it grows and grows");
    };
    assert!(nth > 1, "{}", refused.err);
    let file = files.file();
    for said in [
        &*file.display().to_string(),
        "the 1048576 bytes that it may have",
        "make room",
    ] {
        assert!(refused.err.contains(said), "{}", refused.err);
    }
    let bytes = std::fs::metadata(&file).expect("the file").len();
    assert!(bytes <= 1 << 20, "{bytes}");
    // What is there can be read, and deleted.
    let pruned = files.run(&["sessions", "prune", "--over", "1B", "--json"]);
    let pruned = pruned.run().await;
    let pruned: Value = serde_json::from_str(&pruned.out).expect("a document");
    assert_eq!(pruned["sessions"][0], json!("s0"), "{pruned}");
    let again = ask("again").await;
    assert_eq!(again.code, Some(0), "{}", again.err);
}
