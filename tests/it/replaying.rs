//! What was decided is decided again, offline.

use jackfield_domain::tool_loop::LOOP_VERSION;
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::Turn;
use serde_json::json;

use crate::harness::{Jackfield, jackfield, kept};

#[tokio::test]
async fn a_file_of_facts_comes_out_the_same_with_no_key_and_no_provider() {
    let ran = jackfield(["replay", "--facts", TWO_CALLS]).run().await;
    ran.answers("✓ session uv96yvrx42ya: all 7 steps come out the same\n");
}

#[tokio::test]
async fn a_changed_fact_is_told_with_its_field_and_an_exit_code_of_its_own() {
    let whole = std::fs::read_to_string(TWO_CALLS).expect("a file");
    let older = whole.replacen("\"time_limit\":\"30s\"", "\"time_limit\":\"31s\"", 1);
    // As today's loop would have decided it: of what an older one decided, less can be said.
    let changed = older.replace("\"version\":2", &format!("\"version\":{LOOP_VERSION}"));
    let replay =
        jackfield(["replay", "--facts", "changed.jsonl"]).in_project("changed.jsonl", &changed);
    let ran = replay.run().await;
    assert_eq!(ran.code, Some(11), "{}", ran.err);
    assert_eq!(
        ran.out,
        "step 1 (reply_ended): differs: fact 1, call_started, time_limit: recorded 31s, decided 30s\n\
         session uv96yvrx42ya: 6 of 7 steps come out the same, 1 otherwise\n"
    );
    let replay = jackfield(["replay", "--facts", "older.jsonl"]).in_project("older.jsonl", older);
    let ran = replay.run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(
        ran.out
            .contains("decided differently since version 2 of the loop")
    );
}

#[tokio::test]
async fn what_is_exported_as_facts_comes_out_the_same_elsewhere() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let claude = ScriptedClaude::start([
        Turn::call("calculator", &json!({ "expression": "6*7" })),
        Turn::text("It is 42."),
    ])
    .await;
    let on = |run: Jackfield| run.env("JACKFIELD_DB", folder.path().join("kept.db"));
    let ask = on(jackfield(["ask", "--session", "sums", "What is 6 * 7?"]));
    ask.at(&claude.base_url())
        .run()
        .await
        .answers("It is 42.\n");
    let exported = on(jackfield(["sessions", "export", "sums", "--facts"]))
        .run()
        .await;
    assert_eq!(exported.code, Some(0), "{}", exported.err);
    let replay = jackfield(["replay", "--facts", "facts.jsonl"]);
    let ran = replay.in_project("facts.jsonl", &exported.out).run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.starts_with("✓ session sums: all "), "{}", ran.out);
    let redacted = ["sessions", "export", "sums", "--facts", "--redact"];
    let redacted = on(jackfield(redacted)).run().await;
    assert_eq!(
        (redacted.code, &*redacted.out),
        (Some(2), ""),
        "{}",
        redacted.err
    );
    kept(&claude);
}

/// A session with two calls and an overload, as `sessions export --facts` writes it.
const TWO_CALLS: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../crates/jackfield-testkit/tests/it/facts/two-calls.jsonl"
);
