//! A second message, sent by another process than the one that is at work.

use jackfield_testkit::server::Gate;
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{Jackfield, jackfield, kept};

/// A file that several runs share.
struct File(TempDir);

impl File {
    fn run<const N: usize>(&self, arguments: [&str; N]) -> Jackfield {
        jackfield(arguments).env("JACKFIELD_DB", self.0.path().join("kept.db"))
    }
}

const CANCEL: &str = "[session]\nsecond_message = \"cancel\"";
const QUEUE: &str = "[session]\nsecond_message = \"queue\"";

#[tokio::test]
async fn it_cancels_the_turn_of_the_other_process_where_that_was_said() {
    let file = File(tempfile::tempdir().expect("a folder can be made"));
    let gate = Gate::new();
    let turns = [
        ScriptTurn::text("Never said.").pause_after(1, &gate),
        ScriptTurn::text("Here.").when("Me, too."),
    ];
    let claude = ScriptedClaude::start(turns).await;
    let first = file.run(["ask", "--session", "one", "--json", "Go."]);
    let mut first = first.at(&claude.base_url()).start();
    first.out.until("turn_started").await;
    gate.reached().await;
    let second = file.run(["ask", "--session", "one", "Me, too."]);
    let second = second.at_with(&claude.base_url(), CANCEL).run().await;
    second.answers("Here.\n");
    gate.open();
    let first = first.end().await;
    assert_eq!(
        first.last_event()["end"],
        json!({ "kind": "cancelled", "cause": "superseded" })
    );
    let shown = file.run(["sessions", "show", "one"]).run().await;
    let words = "! cancelled for a new message\n";
    assert!(shown.out.contains(words), "{}", shown.out);
    kept(&claude);
}

#[tokio::test]
async fn it_waits_for_the_turn_of_the_other_process_where_that_was_said() {
    let file = File(tempfile::tempdir().expect("a folder can be made"));
    let gate = Gate::new();
    let turns = [
        ScriptTurn::text("Done.").pause_after(1, &gate),
        ScriptTurn::text("Here.").when("Me, too."),
    ];
    let claude = ScriptedClaude::start(turns).await;
    let first = file.run(["ask", "--session", "one", "--json", "Go."]);
    let mut first = first.at(&claude.base_url()).start();
    first.out.until("turn_started").await;
    gate.reached().await;
    let second = file.run(["ask", "--session", "one", "Me, too."]);
    let mut second = second.at_with(&claude.base_url(), QUEUE).start();
    let said = "session one is at work; this message is sent when its turn is over";
    second.err.until(said).await;
    gate.open();
    let first = first.end().await;
    assert_eq!(first.code, Some(0), "{}", first.err);
    let second = second.end().await;
    second.answers("Here.\n");
    let list = file.run(["sessions", "list", "--json"]).run().await;
    let list: Value = serde_json::from_str(&list.out).expect("a document");
    assert_eq!(list[0]["turns"], 2, "{list:#}");
    kept(&claude);
}
