//! Sessions that outlast their process: kept, shown, found, gone on with, forked, deleted.

use std::path::{Path, PathBuf};

use jackfield_testkit::server::Gate;
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{Jackfield, Ran, jackfield, kept};

/// A file that several runs share.
struct File(TempDir);

impl File {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder can be made"))
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("kept.db")
    }

    /// The binary with these arguments, on this file.
    fn run<const N: usize>(&self, arguments: [&str; N]) -> Jackfield {
        jackfield(arguments).env("JACKFIELD_DB", self.path())
    }

    /// What a command says in JSON that needs no provider and no key.
    async fn json<const N: usize>(&self, arguments: [&str; N]) -> Value {
        let ran = self.run(arguments).more(&["--json"]).run().await;
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        serde_json::from_str(&ran.out).expect("a document")
    }

    /// The sessions, as they are listed.
    async fn list(&self) -> Vec<Value> {
        let list = self.json(["sessions", "list"]).await;
        list.as_array().cloned().expect("a list")
    }
}

async fn ask(file: &File, claude: &ScriptedClaude, session: &str, question: &str) -> Ran {
    let ask = file.run(["ask", "--session", session, question]);
    ask.at(&claude.base_url()).run().await
}

#[tokio::test]
async fn what_was_said_just_now_is_seconds_old() {
    let file = File::new();
    let claude = ScriptedClaude::start([ScriptTurn::text("Hello.")]).await;
    ask(&file, &claude, "now", "Hi.").await.answers("Hello.\n");
    let ran = file.run(["sessions", "list"]).run().await;
    let line = ran.out.lines().find(|line| line.contains("now"));
    let line = line.unwrap_or_else(|| panic!("{}", ran.out));
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_age = |pair: &[&str]| pair[0].parse::<u64>().is_ok() && pair[1] == "s";
    assert!(words.windows(2).any(is_age), "{line}");
    kept(&claude);
}

#[tokio::test]
async fn two_questions_in_a_row_are_one_conversation() {
    let file = File::new();
    let claude = ScriptedClaude::start([
        ScriptTurn::text("Hello, Ada."),
        ScriptTurn::text("You are Ada.").when("Who am I?"),
    ])
    .await;
    ask(&file, &claude, "trip", "I am Ada.")
        .await
        .answers("Hello, Ada.\n");
    ask(&file, &claude, "trip", "Who am I?")
        .await
        .answers("You are Ada.\n");
    let sent = claude.requests()[1]["messages"].to_string();
    assert!(
        sent.contains("I am Ada.") && sent.contains("Hello, Ada."),
        "{sent}"
    );
    let list = file.list().await;
    assert_eq!(list.len(), 1, "{list:#?}");
    assert_eq!(list[0]["id"], "trip");
    assert_eq!(list[0]["title"], "I am Ada.");
    assert_eq!(
        (&list[0]["turns"], &list[0]["state"]),
        (&json!(2), &json!("idle"))
    );
    kept(&claude);
}

#[tokio::test]
async fn s4_01_a_turn_is_kept_as_it_happened() {
    let file = File::new();
    let claude = ScriptedClaude::start([
        ScriptTurn::text("First the sum.").and_call("calculator", &json!({ "expression": "6*7" })),
        ScriptTurn::text("It is 42."),
        ScriptTurn::status(400, &json!({ "type": "error", "error": { "type": "invalid_request_error", "message": "no" } })),
    ])
    .await;
    ask(&file, &claude, "sums", "What is 6 * 7?").await;
    ask(&file, &claude, "sums", "And now?").await;
    let shown = file.json(["sessions", "show", "sums"]).await;
    let messages = &shown["turns"][0]["messages"];
    assert_eq!(messages[0]["role"], "user", "{shown:#}");
    assert_eq!(messages[0]["blocks"][0]["text"], "What is 6 * 7?");
    assert_eq!(messages[1]["role"], "assistant");
    assert_eq!(messages[1]["blocks"][0]["text"], "First the sum.");
    assert_eq!(messages[1]["finish"], "tool_calls");
    let called = &messages[1]["blocks"][1];
    assert_eq!(called["name"], "calculator");
    assert_eq!(messages[2]["role"], "tool");
    let result = &messages[2]["blocks"][0];
    assert_eq!(result["id"], called["id"]);
    assert_eq!(result["result"]["text"], "42");
    assert_eq!(shown["turns"][0]["calls"][0]["result"], result["result"]);
    assert_eq!(messages[3]["blocks"][0]["text"], "It is 42.");
    assert_eq!(messages[3]["finish"], "stop");
    assert_eq!(shown["turns"][0]["answer"], "It is 42.");
    assert_eq!(shown["state"], "idle");
    let failed = &shown["turns"][1];
    assert_eq!(failed["messages"][0]["blocks"][0]["text"], "And now?");
    assert_eq!(failed["end"]["kind"], "failed", "{shown:#}");
}

#[tokio::test]
async fn a_killed_turn_is_listed_as_open_and_resumed_to_its_end() {
    let file = File::new();
    let gate = Gate::new();
    let claude = ScriptedClaude::start([
        ScriptTurn::call("calculator", &json!({ "expression": "6*7" })),
        ScriptTurn::text("It is 42.").pause_after(1, &gate),
        ScriptTurn::text("It is 42 again."),
        ScriptTurn::text("As I said."),
    ])
    .await;
    let ask = file.run(["ask", "--session", "sums", "--json", "What is 6 * 7?"]);
    let mut running = ask.at(&claude.base_url()).start();
    running.out.until("tool_finished").await;
    gate.reached().await;
    running.kill();
    running.end().await;
    let list = file.list().await;
    assert_eq!(list[0]["state"], "open", "{list:#?}");
    let refused = self::ask(&file, &claude, "sums", "Well?").await;
    refused.stops(12, "was left open");
    let resumed = file
        .run(["sessions", "resume", "sums"])
        .at(&claude.base_url());
    let resumed = resumed.run().await;
    assert_eq!(resumed.code, Some(0), "{}", resumed.err);
    assert!(resumed.out.contains("It is 42 again."), "{}", resumed.out);
    gate.open();
    let list = file.list().await;
    assert_eq!(list[0]["state"], "idle", "{list:#?}");
    let shown = file.json(["sessions", "show", "sums"]).await;
    let text = shown.to_string();
    assert_eq!(text.matches("\"role\":\"tool\"").count(), 1, "{shown:#}");
    self::ask(&file, &claude, "sums", "Well?")
        .await
        .answers("As I said.\n");
}

#[tokio::test]
async fn a_home_that_cannot_be_written_keeps_nothing_and_says_so_once() {
    let claude = ScriptedClaude::start([ScriptTurn::text("Hello.")]).await;
    let ran = jackfield(["ask", "Hello?"])
        .at(&claude.base_url())
        .env("XDG_DATA_HOME", "/proc/nowhere")
        .run()
        .await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(ran.out.trim(), "Hello.");
    assert_eq!(
        ran.err.matches("sessions are not kept").count(),
        1,
        "{}",
        ran.err
    );
    kept(&claude);
}

#[tokio::test]
async fn a_file_that_was_named_and_cannot_be_used_is_an_error_before_anybody_is_asked() {
    let claude = ScriptedClaude::start([]).await;
    let folder = tempfile::tempdir().expect("a folder can be made");
    let place = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).expect("the folder can be written");
        path
    };
    let damaged = place(
        "damaged.db",
        &[b"SQLite format 3\0".as_slice(), &[7; 4096]].concat(),
    );
    let text = place("text.db", b"Dear diary, this is no database at all.");
    for (path, why) in [
        (Path::new("/proc/nowhere/x.db"), "cannot be opened"),
        (Path::new("/dev/null"), "/dev/null is a device: name a file"),
        (folder.path(), "is a folder: name a file"),
        (&damaged, "damaged"),
        (&text, "text.db"),
    ] {
        let ran = jackfield(["ask", "Hello?", "--db"])
            .more(&[&path.display().to_string()])
            .at(&claude.base_url())
            .run()
            .await;
        ran.fails(3, "--db: conversations cannot be kept there", "--db");
        assert!(ran.err.contains(why), "{}", ran.err);
    }
    let diary = std::fs::read_to_string(&text).expect("it is there");
    assert!(diary.starts_with("Dear diary"), "{diary}");
    kept(&claude);
}

#[tokio::test]
async fn whoever_looks_for_sessions_in_a_file_that_is_not_there_makes_none() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let file = folder.path().join("tpyo/kept.db");
    let named = file.display().to_string();
    let said = format!("--db: there is no file {named}");
    for looked in [
        &["sessions", "list"][..],
        &["sessions", "show", "one"],
        &["sessions", "resume", "--all"],
        &["chat", "--session", "one"],
        &["approvals", "list"],
        &["audit"],
        &["usage"],
        &["replay", "one"],
    ] {
        let ran = jackfield([]).more(looked);
        let ran = ran.more(&["--db", &named]).run().await;
        ran.fails(3, &said, "jackfield chat --db FILE");
    }
    assert!(!folder.path().join("tpyo").exists());
    // What a configuration or an environment names need not be there yet.
    let ran = jackfield(["sessions", "list"]).env("JACKFIELD_DB", &file);
    assert_eq!(ran.run().await.code, Some(0));
}

#[tokio::test]
async fn a_second_process_is_told_that_the_session_is_at_work() {
    let file = File::new();
    let gate = Gate::new();
    let claude = ScriptedClaude::start([ScriptTurn::text("Done.").pause_after(1, &gate)]).await;
    let first = file.run(["ask", "--session", "one", "--json", "Go."]);
    let mut first = first.at(&claude.base_url()).start();
    first.out.until("turn_started").await;
    gate.reached().await;
    let second = ask(&file, &claude, "one", "Me, too.").await;
    second.fails(12, "is at work on turn", "jackfield sessions watch one");
    let resumed = file.run(["sessions", "resume", "one"]);
    let resumed = resumed.at(&claude.base_url()).run().await;
    resumed.fails(12, "is at work on turn", "jackfield sessions watch one");
    assert_eq!(resumed.out, "");
    let chat = file.run(["chat", "--session", "one"]);
    let chat = chat.at(&claude.base_url()).run().await;
    assert_eq!(chat.code, Some(12), "{}\n{}", chat.out, chat.err);
    let said = "── turn 1, which is at work elsewhere";
    assert!(chat.err.contains(said), "{}", chat.err);
    let list = file.list().await;
    assert_eq!(list[0]["state"], "running", "{list:#?}");
    let deleted = file.run(["sessions", "delete", "--yes", "one"]).run().await;
    deleted.fails(
        12,
        "a process is at work on session one",
        "sessions watch one",
    );
    gate.open();
    let first = first.end().await;
    assert_eq!(first.code, Some(0), "{}", first.err);
    let deleted = file.run(["sessions", "delete", "--yes", "one"]).run().await;
    assert_eq!((deleted.code, deleted.out.trim()), (Some(0), "one"));
    assert!(file.list().await.is_empty());
}

#[tokio::test]
async fn what_was_said_is_found_in_any_language_and_case() {
    let file = File::new();
    let claude = ScriptedClaude::start([
        ScriptTurn::text("机器学习是人工智能的一部分。"),
        ScriptTurn::text("Погода в Казани хорошая."),
    ])
    .await;
    ask(&file, &claude, "zh", "什么是机器学习?我的笔记在哪里?").await;
    ask(&file, &claude, "ru", "Какая погода в Казани?").await;
    for (text, session) in [
        ("机器学习", "zh"),
        ("笔记", "zh"),
        ("казань", ""),
        ("КАЗАНИ", "ru"),
    ] {
        let found = file.json(["sessions", "list", "--search", text]).await;
        let ids = found.as_array().expect("a list").iter();
        let ids: Vec<&str> = ids.filter_map(|one| one["id"].as_str()).collect();
        assert_eq!(ids.join(" "), session, "{text}");
    }
}

#[tokio::test]
async fn a_fork_goes_on_from_its_place_and_leaves_the_other_as_it_is() {
    let file = File::new();
    let claude = ScriptedClaude::start([
        ScriptTurn::text("First the sum.").and_call("calculator", &json!({ "expression": "6*7" })),
        ScriptTurn::text("It is 42."),
        ScriptTurn::text("Two."),
        ScriptTurn::text("From there."),
    ])
    .await;
    ask(&file, &claude, "sums", "What is 6 * 7?").await;
    ask(&file, &claude, "sums", "And then?").await;
    let wrong = file
        .run(["sessions", "fork", "sums", "--at", "7"])
        .run()
        .await;
    wrong.fails(
        2,
        "the session cannot be forked at `7`",
        "--at can be 1.1, 1.2, 1, 2.1, 2",
    );
    let forked = file
        .run(["sessions", "fork", "sums", "--at", "1.1"])
        .run()
        .await;
    assert_eq!(forked.code, Some(0), "{}", forked.err);
    let fork = forked.out.trim();
    ask(&file, &claude, fork, "Elsewhere?")
        .await
        .answers("From there.\n");
    let sent = claude.requests()[3]["messages"].to_string();
    assert!(sent.contains("42") && sent.contains("Elsewhere?"), "{sent}");
    assert!(
        !sent.contains("It is 42.") && !sent.contains("And then?"),
        "{sent}"
    );
    let shown = file.json(["sessions", "show", fork]).await;
    assert_eq!(
        &shown["forked_from"],
        &json!({ "session": "sums", "turn": 1, "round": 1 })
    );
    let other = file.json(["sessions", "show", "sums"]).await;
    assert_eq!(other["turns"].as_array().map(Vec::len), Some(2));
    kept(&claude);
}

#[tokio::test]
async fn prune_says_first_and_deletes_then_what_is_too_much() {
    let file = File::new();
    let claude = ScriptedClaude::start([ScriptTurn::text("One."), ScriptTurn::text("Two.")]).await;
    ask(&file, &claude, "first", "One?").await;
    ask(&file, &claude, "second", "Two?").await;
    let dry = file
        .json(["sessions", "prune", "--over", "1B", "--dry-run"])
        .await;
    assert_eq!(dry["sessions"], json!(["first", "second"]), "{dry}");
    assert_eq!(
        (file.list().await.len(), &dry["deleted"]),
        (2, &json!(false))
    );
    let none = file.json(["sessions", "prune", "--older-than", "1d"]).await;
    assert_eq!(none["sessions"], json!([]));
    let done = file.json(["sessions", "prune", "--over", "1B"]).await;
    assert_eq!(done["sessions"], json!(["first", "second"]));
    assert!(file.list().await.is_empty());
}

#[tokio::test]
async fn an_empty_name_names_no_session_though_every_id_begins_with_it() {
    let file = File::new();
    let claude = ScriptedClaude::start([ScriptTurn::text("Hello.")]).await;
    ask(&file, &claude, "only", "Hi.").await.answers("Hello.\n");
    for arguments in [
        &["sessions", "delete", "--yes", ""][..],
        &["sessions", "export", ""],
        &["sessions", "fork", ""],
        &["sessions", "show", ""],
        &["sessions", "watch", "", "--until-done"],
        &["audit", ""],
        &["replay", ""],
        &["usage", ""],
    ] {
        let ran = file.run([]).more(arguments).run().await;
        ran.fails(2, "an empty name names no session", "sessions list");
    }
    assert_eq!(file.list().await.len(), 1);
    kept(&claude);
}

#[tokio::test]
async fn an_export_is_json_for_those_who_say_so_and_goes_to_standard_output_by_its_sign() {
    let file = File::new();
    let claude = ScriptedClaude::start([ScriptTurn::text("Hello.")]).await;
    ask(&file, &claude, "trip", "Hi.").await.answers("Hello.\n");
    let said = file.json(["sessions", "export", "trip"]).await;
    assert_eq!(said["format"], "jackfield.session", "{said:#}");
    let shown = file.json(["sessions", "show", "trip"]).await;
    assert_eq!(shown["turns"], said["turns"]);
    let signed = file
        .json(["sessions", "export", "trip", "--output", "-"])
        .await;
    assert_eq!(signed, said);
    kept(&claude);
}
