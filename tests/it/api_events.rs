//! The gateway's own API: events, and coming back with a cursor.

use jackfield_testkit::server::Gate;
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::api::{gateway, is_problem, post, session};
use crate::harness::{Answer, Gateway, Kept, kept};

/// One event: its id, its kind, what it says.
type Told = (u64, String, Value);

/// The events of a stream, each with its id.
fn told(answer: &Answer) -> Vec<Told> {
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.header("content-type"), "text/event-stream");
    parsed(&answer.body)
}

/// The frames of a stream, whose chunks may be told, too.
fn parsed(text: &str) -> Vec<Told> {
    let text = text.replace("\r\n", "\n");
    let frames = text.split("\n\n").map(|frame| {
        let field = |name: &str| frame.lines().find_map(|line| line.strip_prefix(name));
        let (id, event, data) = (field("id: ")?, field("event: ")?, field("data: ")?);
        let data: Value = serde_json::from_str(data).expect("JSON");
        assert_eq!(data["event"], event, "{frame}");
        Some((id.parse().expect("a number"), event.to_owned(), data))
    });
    frames.flatten().collect()
}

/// What is told of a session behind a cursor, until nothing is open.
async fn behind(gateway: &Gateway, session: &str, cursor: u64) -> Vec<Told> {
    let asking = gateway.get(&format!("{session}/events?until=rest"));
    let asking = asking.header("last-event-id", &cursor.to_string());
    told(&asking.answered().await)
}

#[tokio::test]
async fn whoever_comes_back_with_any_cursor_is_told_the_rest_and_nothing_twice() {
    let files = Kept::new();
    let (gateway, claude) = gateway(
        &files,
        [
            ScriptTurn::call("calculator", &json!({ "expression": "6*7" })),
            ScriptTurn::text("四十二 is the answer, 好吗?"),
        ],
    )
    .await;
    let session = session(&gateway).await;
    let body = json!({ "message": "What is 6*7?", "mode": "stream" });
    let live = told(&post(&gateway, &session, &body).await);
    let kinds: Vec<&str> = live.iter().map(|(_, kind, _)| &**kind).collect();
    assert_eq!(kinds.first(), Some(&"turn_started"), "{kinds:?}");
    assert_eq!(kinds.last(), Some(&"turn_ended"), "{kinds:?}");
    for kind in [
        "round_started",
        "text",
        "reply",
        "call_started",
        "call_ended",
    ] {
        assert!(kinds.contains(&kind), "no {kind}: {kinds:?}");
    }
    assert!(live.is_sorted_by_key(|(id, ..)| *id), "{kinds:?}");
    let whole = behind(&gateway, &session, 0).await;
    let text = |events: &[Told]| -> String {
        let texts = events.iter().filter(|(_, kind, data)| {
            kind == "text" && data["kind"] == "text" && data["round"] == 2
        });
        texts
            .filter_map(|(.., data)| data["text"].as_str())
            .collect()
    };
    assert_eq!(text(&live), "四十二 is the answer, 好吗?");
    assert_eq!(text(&whole), text(&live));
    // What was told live, in however many pieces, and the rest that is told later: together all of it.
    for (at, (cursor, ..)) in live.iter().enumerate() {
        let rest = behind(&gateway, &session, *cursor).await;
        let both = [&live[..=at], &rest[..]].concat();
        assert_eq!(text(&both), text(&live), "behind {cursor}");
        let others = |events: &[Told]| -> Vec<Told> {
            let others = events.iter().filter(|(_, kind, _)| kind != "text");
            others.cloned().collect()
        };
        assert_eq!(others(&both), others(&live), "behind {cursor}");
    }
    let after = gateway.get(&format!("{session}/events?until=rest&after=0"));
    assert_eq!(told(&after.answered().await), whole);
    for (name, path) in [
        ("after", "?after=1x"),
        ("after", "?after=99999999999999999"),
    ] {
        let answer = gateway
            .get(&format!("{session}/events{path}"))
            .answered()
            .await;
        let problem = is_problem(&answer, 400, "invalid");
        assert!(
            problem["parameter"] == name || problem["parameter"] == "Last-Event-ID",
            "{problem}"
        );
    }
    kept(&claude);
    gateway.end().await;
}

#[tokio::test]
async fn after_kill_9_and_a_start_the_lost_reply_is_superseded_and_nothing_is_missed() {
    let files = Kept::new();
    let gate = Gate::new();
    let claude = ScriptedClaude::start([
        ScriptTurn::call("calculator", &json!({ "expression": "6*7" })),
        ScriptTurn::text("half of it").pause_after(700, &gate),
        ScriptTurn::text("42 it is"),
    ])
    .await;
    let start = || files.gateway().at(&claude.base_url()).start();
    let gateway = Gateway::listening(start()).await;
    let session = session(&gateway).await;
    let body = json!({ "message": "What is 6*7?", "mode": "stream" });
    let mut reading = gateway
        .post(&format!("{session}/turns"), &body)
        .sent()
        .await;
    gate.reached().await;
    reading.until("\"kind\":\"text\",\"text\":").await;
    let before = parsed(&reading.so_far());
    gateway.running.kill();
    gateway.running.end().await;
    // It is taken up by itself; the client comes back with the id of the last event that it saw.
    let gateway = Gateway::listening(start()).await;
    let last = before.last().expect("an event").0;
    let rest = behind(&gateway, &session, last).await;
    let kinds: Vec<&str> = rest.iter().map(|(_, kind, _)| &**kind).collect();
    assert_eq!(kinds.first(), Some(&"turn_resumed"), "{kinds:?}");
    let superseded: Vec<&Told> = rest
        .iter()
        .filter(|(_, kind, _)| kind == "superseded")
        .collect();
    assert_eq!(superseded.len(), 1, "{kinds:?}");
    let (.., lost) = superseded[0];
    assert_eq!(
        (&lost["why"], &lost["round"], &lost["attempt"]),
        (&json!("lost"), &json!(2), &json!(1))
    );
    let ids: Vec<u64> = before.iter().chain(&rest).map(|(id, ..)| *id).collect();
    assert!(ids.is_sorted_by(|one, other| one < other), "{ids:?}");
    // What holds is what was told of tries that were not superseded.
    let holds = before
        .iter()
        .chain(&rest)
        .filter(|(_, kind, data)| kind == "text" && data["kind"] == "text" && data["attempt"] == 2);
    let text: String = holds
        .filter_map(|(.., data)| data["text"].as_str())
        .collect();
    assert_eq!(text, "42 it is");
    let (.., ended) = rest.last().expect("an event");
    assert_eq!(ended["turn"]["answer"], "42 it is");
    assert_eq!(ended["turn"]["resumed"], 1);
    kept(&claude);
    gateway.end().await;
}

#[tokio::test]
async fn a_stream_lives_while_nothing_happens_and_ends_with_the_gateway() {
    let files = Kept::new();
    let (gateway, _claude) = gateway(&files, []).await;
    let session = session(&gateway).await;
    let mut reading = gateway.get(&format!("{session}/events")).sent().await;
    reading.until(": still there").await;
    gateway.running.terminate();
    let ran = gateway.running.end().await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(reading.answered().await.status, 200);
}

/// What a reader with `html=true` sees of the last text while it is written.
fn seen(events: &[Told]) -> String {
    let (mut complete, mut rest) = (String::new(), String::new());
    for (.., data) in events.iter().filter(|(_, kind, _)| kind == "text") {
        if let Some(html) = data["html"].as_object() {
            complete.push_str(html["complete"].as_str().expect("a text"));
            html["rest"].as_str().expect("a text").clone_into(&mut rest);
        }
    }
    complete + &rest
}

#[tokio::test]
async fn a_text_has_its_form_while_it_is_written() {
    let files = Kept::new();
    let gate = Gate::new();
    let words = "- A **word** after the other.\n".repeat(200);
    let text = format!("# Heading\n\n{words}");
    let script = [ScriptTurn::text(text).pause_after(4_000, &gate)];
    let (gateway, claude) = gateway(&files, script).await;
    let session = session(&gateway).await;
    let body = json!({ "message": "Write", "mode": "background" });
    post(&gateway, &session, &body).await;
    gate.reached().await;
    let path = format!("{session}/events?html=true&until=rest");
    let mut live = gateway.get(&path).sent().await;
    live.until("<h1>Heading</h1>").await;
    live.until("<strong>word</strong>").await;
    let before = seen(&parsed(&live.so_far()));
    assert!(
        before.starts_with("<h1>Heading</h1>\n<ul>\n<li>A <strong>word"),
        "{before}"
    );
    // A stream that begins in the middle of a text has its form once it is complete.
    let cursor = parsed(&live.so_far()).last().expect("an event").0;
    let asking = gateway
        .get(&path)
        .header("last-event-id", &cursor.to_string());
    let middle = asking.sent().await;
    gate.open();
    let live = told(&live.answered().await);
    let whole = live
        .iter()
        .find(|(_, kind, _)| kind == "reply")
        .expect("a reply");
    let html = whole.2["message"]["blocks"][0]["html"]
        .as_str()
        .expect("HTML");
    // The last line may have been in the middle of a word.
    let (lines, _) = before.rsplit_once("<li>").expect("a line");
    assert!(seen(&live).starts_with(lines), "{}", seen(&live));
    assert!(html.starts_with(lines), "{html}");
    let middle = told(&middle.answered().await);
    assert_eq!(seen(&middle), "");
    assert!(
        middle
            .iter()
            .any(|(_, kind, data)| kind == "reply" && data.to_string().contains("<h1>"))
    );
    kept(&claude);
    gateway.end().await;
}
