//! The gateway's own API: the events of several sessions in one stream.

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::api::is_problem;
use crate::harness::{Gateway, Kept, kept};

/// One event: the place of its session, its cursor if it has one, and what it says.
type Told = (usize, Option<u64>, Value);

fn told(text: &str) -> Vec<Told> {
    let frames = text.split("\n\n").map(|frame| {
        let field = |name: &str| frame.lines().find_map(|line| line.strip_prefix(name));
        let (place, cursor) = match field("id: ")?.split_once(' ') {
            Some((place, cursor)) => (place, Some(cursor.parse().expect("a cursor"))),
            None => (field("id: ")?, None),
        };
        let data = serde_json::from_str(field("data: ")?).expect("JSON");
        Some((place.parse().expect("a place"), cursor, data))
    });
    frames.flatten().collect()
}

/// The kinds of the events at a place, but for the texts, which come in any number of pieces.
fn kinds(events: &[Told], wanted: usize) -> Vec<String> {
    let events = events.iter().filter(|(place, ..)| *place == wanted);
    let kinds = events.filter_map(|(.., data)| data["event"].as_str());
    kinds
        .filter(|kind| *kind != "text")
        .map(str::to_owned)
        .collect()
}

async fn new_session(gateway: &Gateway, key: &str) -> String {
    let made = gateway.api(key, "POST", "/api/v1/sessions", json!({}));
    made.await.is(201)["id"].as_str().expect("an id").to_owned()
}

async fn begin(gateway: &Gateway, key: &str, session: &str, message: &str) -> Value {
    let body = json!({ "message": message, "mode": "background" });
    let path = format!("/api/v1/sessions/{session}/turns");
    gateway.api(key, "POST", &path, body).await.is(202)
}

#[tokio::test]
async fn a_client_follows_several_sessions_and_the_questions_in_one_stream() {
    let files = Kept::new();
    let claude = ScriptedClaude::start([
        ScriptTurn::text("Good day."),
        ScriptTurn::text("Good evening."),
        ScriptTurn::call("calculator", &json!({ "expression": "6*7" })),
    ])
    .await;
    let (ann, ben) = (files.user("ann", &[]).await, files.user("ben", &[]).await);
    let asks = "[policy.tools]\n\"*\" = \"ask\"\n";
    let run = files.gateway().at_with(&claude.base_url(), asks);
    let gateway = Gateway::listening(run.start()).await;
    let first = new_session(&gateway, &ann).await;
    let second = new_session(&gateway, &ann).await;
    let foreign = new_session(&gateway, &ben).await;
    let path = format!("/api/v1/events?approvals=true&sessions={first},no.id,{second},{foreign}");
    let mut all = gateway
        .with_key(&ann, "GET", &path, &Value::Null)
        .sent()
        .await;
    all.until("event: approvals\ndata: {\"approvals\":[],\"next\":null}")
        .await;
    // What is not there, or another's, leaves the others alone.
    all.until("id: 1\nevent: problem\n").await;
    all.until("id: 3\nevent: problem\n").await;
    assert_eq!(all.times("urn:jackfield:problem:not_found"), 2);
    begin(&gateway, &ann, &first, "Hi").await;
    all.until_times("event: turn_ended\n", 1).await;
    begin(&gateway, &ann, &second, "Hello").await;
    all.until_times("event: turn_ended\n", 2).await;
    // Each session is as in a stream of its own, from any cursor on.
    let events = told(&all.so_far());
    for (place, session) in [(0, &first), (2, &second)] {
        let its: Vec<_> = events.iter().filter(|(at, ..)| *at == place).collect();
        assert!(its.is_sorted_by(|one, other| one.1 < other.1), "{its:?}");
        let path = format!("/api/v1/sessions/{session}/events?until=rest");
        let alone = gateway.api(&ann, "GET", &path, Value::Null).await;
        let alone: Vec<_> = alone
            .body
            .lines()
            .filter_map(|line| line.strip_prefix("event: "))
            .filter(|kind| *kind != "text")
            .collect();
        assert_eq!(kinds(&events, place), alone);
    }
    let reply = events
        .iter()
        .find(|(place, _, data)| *place == 0 && data["event"] == "reply");
    let (_, cursor, _) = reply.expect("a reply");
    let cursor = cursor.expect("a cursor");
    // The same session twice, from different cursors on.
    let path = format!("/api/v1/events?sessions={first}:{cursor},{first}");
    let mut twice = gateway
        .with_key(&ann, "GET", &path, &Value::Null)
        .sent()
        .await;
    twice.until_times("event: turn_ended\n", 2).await;
    let twice = told(&twice.so_far());
    assert_eq!(kinds(&twice, 0), ["turn_ended"]);
    assert_eq!(kinds(&twice, 1), kinds(&events, 0));
    // A session is deleted while it is followed, and another one asks.
    let path = format!("/api/v1/sessions/{second}");
    let deleted = gateway.api(&ann, "DELETE", &path, Value::Null).await;
    assert_eq!(deleted.status, 204, "{deleted:?}");
    all.until("id: 2\nevent: problem\n").await;
    let turn = begin(&gateway, &ann, &first, "What is 6*7?").await;
    all.until("event: wait_started\n").await;
    all.until("\"tool\":\"calculator\"").await;
    let id = turn["id"].as_str().expect("an id");
    let path = format!("/api/v1/sessions/{first}/turns/{id}/cancel");
    gateway.api(&ann, "POST", &path, json!({})).await.is(200);
    all.until_times("event: turn_ended\n", 3).await;
    // The stream ends once its key is no longer taken.
    files.done(&["users", "disable", "ann"]).await;
    assert_eq!(all.answered().await.status, 200);
    kept(&claude);
    gateway.end().await;
}

#[tokio::test]
async fn a_client_hears_what_is_wrong_with_a_list_of_sessions() {
    let files = Kept::new();
    let claude = ScriptedClaude::start([]).await;
    let gateway = Gateway::listening(files.gateway().at(&claude.base_url()).start()).await;
    let many = vec!["one"; 65].join(",");
    for (list, why) in [
        ("", "name a session"),
        (&many, "64 at most"),
        ("one:x", "a cursor is"),
    ] {
        let asking = gateway.get(&format!("/api/v1/events?sessions={list}"));
        let problem = is_problem(&asking.answered().await, 400, "invalid");
        assert_eq!(problem["parameter"], "sessions", "{problem}");
        let detail = problem["detail"].as_str().expect("words");
        assert!(detail.contains(why), "{problem}");
    }
    // Where none of the sessions is there, the stream ends.
    let asking = gateway.get("/api/v1/events?sessions=one");
    let answer = asking.answered().await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(told(&answer.body).len(), 1, "{answer:?}");
    gateway.end().await;
}
