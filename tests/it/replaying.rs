//! What was decided is decided again, offline.

use jackfield_domain::tool_loop::LOOP_VERSION;
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

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
        ScriptTurn::call("calculator", &json!({ "expression": "6*7" })),
        ScriptTurn::text("It is 42."),
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

#[tokio::test]
async fn a_turn_is_replayed_alone_and_each_step_can_be_looked_at() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let claude = ScriptedClaude::start([
        ScriptTurn::call("calculator", &json!({ "expression": "6*7" })),
        ScriptTurn::text("It is 42."),
        ScriptTurn::text("You are welcome."),
    ])
    .await;
    let on = |run: Jackfield| run.env("JACKFIELD_DB", folder.path().join("kept.db"));
    for (question, answer) in [
        ("What is 6 * 7?", "It is 42.\n"),
        ("Thanks.", "You are welcome.\n"),
    ] {
        let ask = on(jackfield(["ask", "--session", "sums", question]));
        ask.at(&claude.base_url()).run().await.answers(answer);
    }
    kept(&claude);
    let read = async |arguments: &[&str]| -> Value {
        let ran = on(jackfield([]).more(arguments)).run().await;
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        serde_json::from_str(&ran.out).expect("JSON")
    };
    let shown = read(&["sessions", "show", "sums", "--json"]).await;
    let second = shown["turns"][1]["id"].as_str().expect("an id");
    let steps = |told: &Value| {
        let steps = told["steps"].as_array().expect("steps").iter();
        let steps: Vec<u64> = steps.filter_map(|step| step["step"].as_u64()).collect();
        (steps, told["same"].as_u64().expect("a number"))
    };
    let all = read(&["replay", "sums", "--json"]).await;
    let (all, same) = steps(&all);
    assert_eq!((same, &all), (6, &(0..6).collect()));
    let alone = read(&["replay", second, "--json"]).await;
    assert_eq!(alone["turn"], second);
    assert_eq!(steps(&alone), (vec![4, 5], 2));
    let beginning = second.split_at(12).0;
    let found = read(&["replay", beginning, "--json"]).await;
    assert_eq!(found["turn"], second, "{beginning}");
    let both = on(jackfield(["replay", "turn_"])).run().await;
    both.fails(2, "2 turns begin with `turn_`", "say more of the id");
    let step = read(&["replay", second, "--step", "4", "--json"]).await;
    assert_eq!(
        (&step["step"], &step["input"]),
        (&json!(4), &json!("began"))
    );
    let facts = step["facts"].to_string();
    assert!(
        facts.contains("Thanks.") && !facts.contains("6 * 7"),
        "{facts}"
    );
    let other = on(jackfield(["replay", second, "--step", "0"])).run().await;
    other.fails(2, "there is no step 0", "there are 4 to 5");
}

/// A session with two calls and an overload, as `sessions export --facts` writes it.
const TWO_CALLS: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../crates/jackfield-testkit/tests/it/facts/two-calls.jsonl"
);
