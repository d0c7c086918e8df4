//! What is sent to one gateway goes on at the other, with notifications between them and without.

use std::time::{Duration, Instant};

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::harness::{Gateway, kept};
use crate::world::Database;

/// Two gateways on one database, in which a person is asked before the calculator runs.
async fn two(database: &Database, claude: &ScriptedClaude, listens: bool) -> (Gateway, Gateway) {
    let mut more = "[policy.tools]\n\"builtin/calculator\" = \"ask\"\n".to_owned();
    if listens {
        let url = database.url("postgres");
        more.push_str(&format!("[journal]\nlisten_url = \"{url}\"\n"));
    }
    let start = async || {
        let serve = database.gateway().at_with(&claude.base_url(), &more);
        Gateway::listening(serve.start()).await
    };
    (start().await, start().await)
}

#[tokio::test]
async fn a_result_sent_to_the_other_gateway_continues_the_turn() {
    for (name, listens) in [("results", false), ("results_heard", true)] {
        let database = Database::new(name);
        let claude = ScriptedClaude::start([
            ScriptTurn::call("mine", &json!({})),
            ScriptTurn::text("You have three."),
        ])
        .await;
        let (one, other) = two(&database, &claude, listens).await;
        let tools = json!([{ "type": "function", "function": {
            "name": "mine", "parameters": { "type": "object" },
        } }]);
        let question = json!({ "role": "user", "content": "How many have I?" });
        let body = json!({ "model": "claude-sonnet-5", "messages": [question], "tools": tools });
        let calling = one.post(CHAT, &body).header("x-session-id", "new");
        let called = calling.answered().await.is(200);
        let message = &called["choices"][0]["message"];
        let id = &message["tool_calls"][0]["id"];
        let result = json!({ "role": "tool", "tool_call_id": id, "content": "3" });
        let body = json!({
            "model": "claude-sonnet-5", "messages": [question, message, result], "tools": tools,
        });
        let said = other.post(CHAT, &body).answered().await.is(200);
        assert_eq!(said["choices"][0]["message"]["content"], "You have three.");
        // It is one turn of one session.
        let sessions = one.get("/api/v1/sessions").answered().await.is(200);
        let sessions = sessions["sessions"].as_array().expect("a list");
        assert_eq!(
            (sessions.len(), &sessions[0]["turns"]),
            (1, &json!(1)),
            "{sessions:?}"
        );
        kept(&claude);
        one.end().await;
        other.end().await;
    }
}

#[tokio::test]
async fn an_answer_given_at_the_other_gateway_is_seen_at_the_first() {
    for (name, listens) in [("answers", false), ("answers_heard", true)] {
        let database = Database::new(name);
        let claude = ScriptedClaude::start([
            ScriptTurn::call("calculator", &json!({ "expression": "6*7" })),
            ScriptTurn::text("It is 42."),
        ])
        .await;
        let (one, other) = two(&database, &claude, listens).await;
        let mut questions = other.get("/api/v1/approvals/events").sent().await;
        questions.until("{\"approvals\":[]").await;
        let made = one.raw("POST", "/api/v1/sessions").answered().await.is(201);
        let session = format!("/api/v1/sessions/{}", made["id"].as_str().expect("an id"));
        let mut watching = one.get(&format!("{session}/events")).sent().await;
        let body = json!({ "message": "What is 6*7?" });
        let turn = one
            .post(&format!("{session}/turns"), &body)
            .answered()
            .await;
        assert_eq!(turn.is(200)["status"], "waiting");
        questions.until("\"tool\":\"calculator\"").await;
        let open = other.get("/api/v1/approvals").answered().await.is(200);
        let id: &Value = &open["approvals"][0]["id"];
        let allow = format!("/api/v1/approvals/{}/allow", id.as_str().expect("an id"));
        let asked = Instant::now();
        other.post(&allow, &json!({})).answered().await.is(200);
        watching.until("event: turn_ended").await;
        let took = asked.elapsed();
        println!("allowed at one gateway and ended at the other, listening: {listens}: {took:?}");
        // Five commits, each of which the watcher may see 250 ms late.
        assert!(took < Duration::from_secs(3), "{took:?}");
        assert!(watching.so_far().contains("It is 42."));
        kept(&claude);
        one.end().await;
        other.end().await;
    }
}

/// Two gateways look for the turn of a key before either has begun it.
#[tokio::test]
async fn one_request_with_a_key_at_both_gateways_at_once_begins_one_turn() {
    let database = Database::new("keyed");
    let claude = ScriptedClaude::start([ScriptTurn::text("Hello.").again()]).await;
    let (one, other) = two(&database, &claude, false).await;
    for nth in 0..TIMES {
        let content = format!("Hello number {nth}?");
        let message = json!({ "role": "user", "content": content });
        let body = json!({ "model": "claude-sonnet-5", "messages": [message] });
        let ask = |gateway: &Gateway| {
            let asking = gateway.post(CHAT, &body).header("x-session-id", "new");
            asking
                .header("idempotency-key", &format!("key-{nth}"))
                .answered()
        };
        let (first, second) = tokio::join!(ask(&one), ask(&other));
        assert_eq!(first.is(200)["id"], second.is(200)["id"]);
    }
    let sessions = one
        .get("/api/v1/sessions?limit=100")
        .answered()
        .await
        .is(200);
    let sessions = sessions["sessions"].as_array().expect("a list");
    assert_eq!(sessions.len(), TIMES, "{sessions:?}");
    assert_eq!(claude.requests().len(), TIMES);
    kept(&claude);
    one.end().await;
    other.end().await;
}

/// The same in a conversation: the client sends all of it to both, and each time one more question.
#[tokio::test]
async fn a_conversation_that_is_continued_at_both_gateways_at_once_has_one_turn_more() {
    let database = Database::new("continued");
    let claude = ScriptedClaude::start([ScriptTurn::text("Hello.").again()]).await;
    let (one, other) = two(&database, &claude, false).await;
    let mut messages = Vec::new();
    for nth in 0..TIMES {
        messages.push(json!({ "role": "user", "content": format!("Hello number {nth}?") }));
        let body = json!({ "model": "claude-sonnet-5", "messages": messages });
        let ask = |gateway: &Gateway| {
            let asking = gateway.post(CHAT, &body);
            let asking = asking.header("idempotency-key", &format!("key-{nth}"));
            // The first one says that the conversation is kept.
            match nth {
                0 => asking.header("x-session-id", "new").answered(),
                _ => asking.answered(),
            }
        };
        let (first, second) = tokio::join!(ask(&one), ask(&other));
        let first = first.is(200);
        assert_eq!(first["id"], second.is(200)["id"], "{nth}");
        messages.push(first["choices"][0]["message"].clone());
    }
    assert_eq!(turns(&one).await, [TIMES]);
    assert_eq!(claude.requests().len(), TIMES);
    kept(&claude);
    one.end().await;
    other.end().await;
}

#[tokio::test]
async fn a_turn_that_is_posted_to_a_session_at_both_gateways_at_once_begins_once() {
    let database = Database::new("posted");
    let claude = ScriptedClaude::start([ScriptTurn::text("Hello.").again()]).await;
    let (one, other) = two(&database, &claude, false).await;
    let made = one.raw("POST", "/api/v1/sessions").answered().await.is(201);
    let path = format!(
        "/api/v1/sessions/{}/turns",
        made["id"].as_str().expect("an id")
    );
    for nth in 0..TIMES {
        let body = json!({ "message": format!("Hello number {nth}?") });
        let ask = |gateway: &Gateway| {
            let asking = gateway.post(&path, &body);
            asking
                .header("idempotency-key", &format!("key-{nth}"))
                .answered()
        };
        let (first, second) = tokio::join!(ask(&one), ask(&other));
        let (first, second) = (first.is(200), second.is(200));
        assert_eq!(
            (&first["id"], &first["answer"]),
            (&second["id"], &json!("Hello."))
        );
    }
    assert_eq!(turns(&one).await, [TIMES]);
    assert_eq!(claude.requests().len(), TIMES);
    kept(&claude);
    one.end().await;
    other.end().await;
}

/// How many turns each session has.
async fn turns(gateway: &Gateway) -> Vec<usize> {
    let sessions = gateway
        .get("/api/v1/sessions?limit=100")
        .answered()
        .await
        .is(200);
    let sessions = sessions["sessions"].as_array().expect("a list");
    let turns = sessions
        .iter()
        .map(|session| session["turns"].as_u64().expect("a number"));
    turns
        .map(|turns| usize::try_from(turns).expect("few"))
        .collect()
}

const TIMES: usize = 10;
const CHAT: &str = "/v1/chat/completions";
