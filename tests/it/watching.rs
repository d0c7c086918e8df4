//! Sessions watched from other processes, and exported.

use std::collections::BTreeMap;
use std::path::Path;

use jackfield_testkit::server::Gate;
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::harness::{Jackfield, Running, jackfield, kept};

/// A command on this file.
fn on<const N: usize>(db: &Path, arguments: [&str; N]) -> Jackfield {
    jackfield(arguments).env("JACKFIELD_DB", db)
}

fn watch(db: &Path, more: &[&str]) -> Jackfield {
    on(db, ["sessions", "watch", "slice", "--json"]).more(more)
}

/// What is told up to the end of the turn, from a cursor on.
async fn from(db: &Path, cursor: &str) -> Vec<Value> {
    let ran = watch(db, &["--until-done", "--from", cursor]).run().await;
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{}", ran.out);
    ran.events()
}

/// The text of each try, in the order in which it came.
fn texts(events: &[Value]) -> BTreeMap<(u64, u64), String> {
    let mut texts = BTreeMap::new();
    for event in events.iter().filter(|event| event["event"] == "text") {
        let place = (event["round"].as_u64(), event["attempt"].as_u64());
        let place = (place.0.unwrap_or(0), place.1.unwrap_or(0));
        let text: &mut String = texts.entry(place).or_default();
        text.push_str(event["text"].as_str().unwrap_or_default());
    }
    texts
}

/// Everything but text, without what only says where it was told.
fn facts(events: &[Value]) -> Vec<Value> {
    let others = events.iter().filter(|event| event["event"] != "text");
    others.cloned().collect()
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events
        .iter()
        .filter_map(|event| event["event"].as_str())
        .collect()
}

fn cursor(event: &Value) -> Option<u64> {
    event["cursor"]
        .as_str()
        .map(|cursor| cursor.parse().expect("a number"))
}

#[tokio::test]
async fn a_turn_is_watched_from_another_process_and_from_any_place() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let db = folder.path().join("sessions.db");
    let gate = Gate::new();
    let answer = ScriptTurn::text("四十二 is the answer, 好吗?").pause_after(700, &gate);
    let claude = ScriptedClaude::start([
        ScriptTurn::call("calculator", &json!({ "expression": "6*7" })),
        answer,
    ])
    .await;
    let ask = on(&db, ["ask", "--session", "slice", "what is it?"]).at(&claude.base_url());
    let mut asking = ask.start();
    asking.out.until("四").await;
    // It watches while the turn goes on elsewhere.
    let mut watching = watch(&db, &["--until-done"]).start();
    watching.out.until("\"round\":2").await;
    gate.open();
    let asked = asking.end().await;
    assert_eq!(asked.code, Some(0), "{}", asked.err);
    let watched = watching.end().await;
    assert_eq!(
        (watched.code, watched.err.as_str()),
        (Some(0), ""),
        "{}",
        watched.out
    );
    let events = watched.events();
    assert_eq!(
        kinds(&events)
            .into_iter()
            .filter(|kind| *kind != "note")
            .collect::<Vec<_>>(),
        [
            "message",
            "turn_started",
            "round_started",
            "tool_call",
            "tool_started",
            "tool_finished",
            "round_started",
            "text",
            "turn_ended",
        ]
    );
    assert_eq!(texts(&events)[&(2, 1)], "四十二 is the answer, 好吗?");
    let ended = events.last().expect("there are events");
    assert_eq!(ended["answer"], "四十二 is the answer, 好吗?");
    // Another one from the beginning is told the same, and one from anywhere the rest.
    assert_eq!(from(&db, "0").await, events);
    for (at, event) in events.iter().enumerate() {
        if let Some(cursor) = cursor(event) {
            let rest = from(&db, &cursor.to_string()).await;
            assert_eq!(
                [&events[..=at], &rest[..]].concat(),
                events,
                "from {cursor}"
            );
        }
    }
    // In the middle of the text, and in the middle of a character, which is told whole.
    let said = events.iter().position(|event| event["event"] == "text");
    let said = said.expect("it said something");
    let behind = cursor(&events[said]).expect("a cursor");
    for (back, rest) in [(1, "?"), (4, "吗?"), (2, "吗?"), (7, "好吗?")] {
        let rest_of = from(&db, &(behind - back).to_string()).await;
        assert_eq!(
            texts(&rest_of)[&(2, 1)],
            rest,
            "{back} bytes before the end"
        );
        assert_eq!(facts(&rest_of), facts(&events[said + 1..]));
    }
    kept(&claude);
}

#[tokio::test]
async fn ctrl_c_ends_the_watching_and_never_the_turn() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let db = folder.path().join("sessions.db");
    let gate = Gate::new();
    let claude =
        ScriptedClaude::start([ScriptTurn::text("the whole answer").pause_after(600, &gate)]).await;
    let ask = on(&db, ["ask", "--session", "slice", "hello"]).at(&claude.base_url());
    let asking = ask.start();
    gate.reached().await;
    let mut watching: Running = watch(&db, &[]).start();
    watching.out.until("round_started").await;
    watching.interrupt();
    let watched = watching.end().await;
    assert_eq!(
        (watched.code, watched.err.as_str()),
        (Some(130), ""),
        "{}",
        watched.out
    );
    gate.open();
    asking.end().await.answers("the whole answer\n");
    kept(&claude);
}

#[tokio::test]
async fn after_kill_9_the_lost_reply_is_marked_and_nothing_comes_twice() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let db = folder.path().join("sessions.db");
    let gate = Gate::new();
    let claude = ScriptedClaude::start([
        ScriptTurn::call("calculator", &json!({ "expression": "6*7" })),
        ScriptTurn::text("half of it").pause_after(700, &gate),
        ScriptTurn::text("42 it is"),
    ])
    .await;
    let ask = on(&db, ["ask", "--session", "slice", "what is it?"]).at(&claude.base_url());
    let asking = ask.start();
    gate.reached().await;
    let mut watching = watch(&db, &["--until-done"]).start();
    watching.out.until("\"round\":2").await;
    let before = watch_for_now(&db).await;
    asking.kill();
    asking.end().await;
    let resume = on(&db, ["sessions", "resume", "slice"]).at(&claude.base_url());
    let resumed = resume.run().await;
    assert_eq!(resumed.code, Some(0), "{}", resumed.err);
    // Whoever watched all the time, and whoever comes back: the same.
    let watched = watching.end().await;
    assert_eq!(watched.code, Some(0), "{}", watched.err);
    let all = watched.events();
    let last = before.iter().rev().find_map(cursor).expect("a cursor");
    let rest = from(&db, &last.to_string()).await;
    assert_eq!([&before[..], &rest[..]].concat(), all);
    assert_eq!(from(&db, "0").await, all);
    // So does who saw some of the text that is lost, in the process that had it.
    let inside = from(&db, &(last + 5).to_string()).await;
    assert_eq!(inside, rest);
    let superseded: Vec<&Value> = all
        .iter()
        .filter(|event| event["superseded"] == true)
        .collect();
    assert_eq!(superseded.len(), 1, "{}", watched.out);
    assert_eq!(
        (
            &superseded[0]["round"],
            &superseded[0]["attempt"],
            &superseded[0]["why"]
        ),
        (&json!(2), &json!(1), &json!("lost"))
    );
    assert_eq!(
        texts(&all),
        BTreeMap::from([((2, 2), "42 it is".to_owned())])
    );
    for once in [
        "turn_started",
        "tool_call",
        "tool_started",
        "tool_finished",
        "turn_resumed",
        "turn_ended",
    ] {
        assert_eq!(
            kinds(&all).iter().filter(|kind| **kind == once).count(),
            1,
            "{once}"
        );
    }
    let cursors: Vec<u64> = all.iter().filter_map(cursor).collect();
    assert!(cursors.is_sorted_by(|one, two| one < two), "{cursors:?}");
    gate.open();
}

/// What is told by now of a turn that goes on.
async fn watch_for_now(db: &Path) -> Vec<Value> {
    let mut watching = watch(db, &[]).start();
    watching.out.until("\"round\":2").await;
    watching.interrupt();
    watching.end().await.events()
}

#[tokio::test]
async fn a_cursor_of_another_session_is_an_error_of_the_command_line() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let db = folder.path().join("sessions.db");
    let claude = ScriptedClaude::start([ScriptTurn::text("hello")]).await;
    let ask = on(&db, ["ask", "--session", "slice", "hello"]).at(&claude.base_url());
    ask.run().await.answers("hello\n");
    let ran = watch(&db, &["--from", "999999999999"]).run().await;
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    ran.says("the cursor 999999999999 is none of this session");
    let ran = watch(&db, &["--from", "-1"]).run().await;
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    kept(&claude);
}

#[tokio::test]
async fn a_session_is_exported_whole_and_without_what_is_private() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let db = folder.path().join("sessions.db");
    let claude = ScriptedClaude::start([
        ScriptTurn::call("calculator", &json!({ "expression": "6*7" })),
        ScriptTurn::text("四十二:\n```\n42"),
    ])
    .await;
    let question = "六乘七 with sk-ant-api03-0123456789abcdefXYZ?";
    let ask = on(&db, ["ask", "--session", "slice", question]).at(&claude.base_url());
    assert_eq!(ask.run().await.code, Some(0));
    let ran = on(&db, ["sessions", "export", "slice"]).run().await;
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    let document: Value = serde_json::from_str(&ran.out).expect("JSON");
    let turn = &document["turns"][0];
    assert_eq!(turn["messages"][0]["blocks"][0]["text"], question);
    assert_eq!(
        turn["calls"][0]["arguments"],
        json!({ "expression": "6*7" })
    );
    assert_eq!(turn["calls"][0]["result"]["text"], "42");
    let file = folder.path().join("session.md");
    let export = on(
        &db,
        [
            "sessions", "export", "last", "--redact", "--format", "markdown", "--output",
        ],
    );
    let ran = export.more(&[file.to_str().expect("a path")]).run().await;
    assert_eq!(
        (ran.code, ran.out.as_str(), ran.err.as_str()),
        (Some(0), "", "")
    );
    let markdown = std::fs::read_to_string(&file).expect("it is written");
    assert!(
        markdown.contains("> 六乘七 with [redacted: key]"),
        "{markdown}"
    );
    assert!(
        !markdown.contains("6*7") && !markdown.contains("0123456789"),
        "{markdown}"
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(&file)
            .expect("it is there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    // A folder that is not there: nothing is written anywhere.
    let nowhere = folder.path().join("none/session.md");
    let export = on(&db, ["sessions", "export", "slice", "-o"]);
    let ran = export
        .more(&[nowhere.to_str().expect("a path")])
        .run()
        .await;
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    ran.says("cannot be written");
    kept(&claude);
}
