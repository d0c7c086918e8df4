//! Two gateways on one database.

use std::time::{Duration, Instant};

use jackfield_testkit::server::Gate;
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::harness::{Answer, Gateway, McpServer, kept};
use crate::world::Database;

async fn listening(database: &Database, claude: &ScriptedClaude) -> Gateway {
    let serve = database.gateway().at(&claude.base_url());
    Gateway::listening(serve.start()).await
}

/// The path of a new session.
async fn session(gateway: &Gateway) -> String {
    let made = gateway.raw("POST", "/api/v1/sessions").answered().await;
    let id = made.is(201)["id"].as_str().expect("an id").to_owned();
    format!("/api/v1/sessions/{id}")
}

/// The events of a stream: the id, the kind and what it says.
fn told(text: &str) -> Vec<(u64, String, Value)> {
    let text = text.replace("\r\n", "\n");
    let frames = text.split("\n\n").map(|frame| {
        let field = |name: &str| frame.lines().find_map(|line| line.strip_prefix(name));
        let (id, event, data) = (field("id: ")?, field("event: ")?, field("data: ")?);
        let data = serde_json::from_str(data).expect("JSON");
        Some((id.parse().expect("a number"), event.to_owned(), data))
    });
    frames.flatten().collect()
}

/// What is told of a session behind a cursor, until nothing is open.
async fn behind(gateway: &Gateway, session: &str, cursor: u64) -> Answer {
    let asking = gateway.get(&format!("{session}/events?until=rest"));
    let asking = asking.header("last-event-id", &cursor.to_string());
    asking.answered().await
}

#[tokio::test]
async fn a_turn_of_a_killed_gateway_goes_on_at_the_other_and_so_does_its_client() {
    let database = Database::new("takeover");
    let gate = Gate::new();
    let claude = ScriptedClaude::start([
        ScriptTurn::call("calculator", &json!({ "expression": "6*7" })),
        ScriptTurn::text("half of it").pause_after(700, &gate),
        ScriptTurn::text("42 it is"),
    ])
    .await;
    let one = listening(&database, &claude).await;
    let other = listening(&database, &claude).await;
    let session = session(&one).await;
    let body = json!({ "message": "What is 6*7?", "mode": "stream" });
    let turns = format!("{session}/turns");
    let mut reading = one.post(&turns, &body).sent().await;
    gate.reached().await;
    reading.until("\"kind\":\"text\",\"text\":").await;
    let before = told(&reading.so_far());
    one.running.kill();
    one.running.end().await;
    let killed = Instant::now();
    let last = before.last().expect("an event").0;
    let rest = told(&behind(&other, &session, last).await.body);
    let took = killed.elapsed();
    // The lease, a second until the other looks, and the turn.
    assert!(took < Duration::from_secs(15), "{took:?}");
    let kinds: Vec<&str> = rest.iter().map(|(_, kind, _)| &**kind).collect();
    assert_eq!(kinds.first(), Some(&"turn_resumed"), "{kinds:?}");
    let ids: Vec<u64> = before.iter().chain(&rest).map(|(id, ..)| *id).collect();
    assert!(ids.is_sorted_by(|one, other| one < other), "{ids:?}");
    let (.., ended) = rest.last().expect("an event");
    assert_eq!(ended["turn"]["answer"], "42 it is");
    assert_eq!(ended["turn"]["resumed"], 1);
    // The calculator ran once.
    let started = before.iter().chain(&rest);
    let started = started.filter(|(_, kind, _)| kind == "call_started");
    assert_eq!(started.count(), 1);
    kept(&claude);
    other.end().await;
}

#[tokio::test]
async fn a_client_at_the_other_gateway_sees_a_turn_while_it_runs() {
    let database = Database::new("watching");
    let gate = Gate::new();
    let claude = ScriptedClaude::start([
        ScriptTurn::call("calculator", &json!({ "expression": "6*7" })),
        ScriptTurn::text("42 it is").pause_after(700, &gate),
        ScriptTurn::text("As I said."),
    ])
    .await;
    let one = listening(&database, &claude).await;
    let other = listening(&database, &claude).await;
    let session = session(&one).await;
    let mut watching = other.get(&format!("{session}/events")).sent().await;
    let body = json!({ "message": "What is 6*7?", "mode": "stream" });
    let turns = format!("{session}/turns");
    let mut reading = one.post(&turns, &body).sent().await;
    gate.reached().await;
    // The call is a fact, and so it is there; the text of a reply that still comes is not.
    watching.until("event: call_ended").await;
    // A gateway that ends in order gives its sessions up at once.
    gate.open();
    reading.until("event: turn_ended").await;
    watching.until("event: turn_ended").await;
    one.end().await;
    let body = json!({ "message": "And now?" });
    let next = other.post(&turns, &body).answered().await.is(200);
    assert_eq!(next["answer"], "As I said.", "{next}");
    kept(&claude);
    other.end().await;
}

/// Waits until the gateway says so: it tries a write every two seconds.
async fn ready(gateway: &Gateway, status: u16) {
    let began = Instant::now();
    loop {
        let answer = gateway.get("/readyz").answered().await;
        if answer.status == status {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{answer:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn a_gateway_without_its_database_says_so_and_heals() {
    let database = Database::new("going");
    let claude = ScriptedClaude::start([ScriptTurn::text("Hello.").again()]).await;
    let gateway = listening(&database, &claude).await;
    let session = session(&gateway).await;
    let turns = format!("{session}/turns");
    let body = json!({ "message": "Hello?" });
    gateway.post(&turns, &body).answered().await.is(200);
    gateway.get("/readyz").answered().await.is(200);
    Database::sql("ALTER DATABASE going WITH ALLOW_CONNECTIONS false");
    Database::sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'going'");
    ready(&gateway, 503).await;
    gateway.get("/healthz").answered().await.is(200);
    Database::sql("ALTER DATABASE going WITH ALLOW_CONNECTIONS true");
    ready(&gateway, 200).await;
    gateway.post(&turns, &body).answered().await.is(200);
    gateway.end().await;
}

/// An MCP server over standard input and output belongs to one gateway: the other starts its own, which knows nothing
/// of the call.
#[tokio::test]
async fn a_call_at_a_server_of_a_lost_gateway_has_an_unknown_outcome_and_is_not_made_again() {
    let database = Database::new("stdio");
    let pay = json!({
        "name": "pay", "description": "Pays.", "inputSchema": { "type": "object" },
        "annotations": { "readOnlyHint": false, "idempotentHint": false },
    });
    let folder = tempfile::tempdir().expect("a folder");
    let effects = folder.path().join("effects");
    let bank = McpServer::new(json!({
        "tools": [pay], "calls": { "pay": [{ "sleep": 60_000 }] }, "effects": effects,
    }));
    let claude = ScriptedClaude::start([
        ScriptTurn::call("bank__pay", &json!({ "nth": 1 })),
        ScriptTurn::text("It may be paid."),
    ])
    .await;
    let start = async || {
        let more = "[policy.tools]\n\"bank/*\" = \"allow\"\n[journal]\nlease = \"2s\"\n";
        let serve = database.gateway().at_with(&claude.base_url(), more);
        Gateway::listening(serve.servers([("bank", bank.trusted())]).start()).await
    };
    let (one, other) = (start().await, start().await);
    let session = session(&one).await;
    let body = json!({ "message": "Pay the bill.", "mode": "stream" });
    let mut reading = one.post(&format!("{session}/turns"), &body).sent().await;
    reading.until("event: call_started").await;
    let paid = || {
        std::fs::read_to_string(&effects)
            .unwrap_or_default()
            .lines()
            .count()
    };
    let began = Instant::now();
    while paid() == 0 {
        assert!(began.elapsed() < Duration::from_secs(60), "nothing is paid");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    one.running.kill();
    one.running.end().await;
    let rest = told(&behind(&other, &session, 0).await.body);
    let (.., ended) = rest.last().expect("an event");
    assert_eq!(ended["turn"]["answer"], "It may be paid.");
    assert_eq!(paid(), 1);
    // The model sees that the outcome is unknown.
    let results = claude.requests()[1]["messages"].to_string();
    assert!(
        results.contains("unknown") || results.contains("may have"),
        "{results}"
    );
    kept(&claude);
    other.end().await;
}
