//! The gateway's own API: instructions, settings and limits of a message, and what its turn says of them.

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::{Script, ScriptTurn};
use serde_json::{Value, json};

use crate::api::{is_problem, post, session};
use crate::harness::{Gateway, Kept, kept};

/// Two rounds at most, with a price, and a prompt and an effort of the gateway's own.
const CONFIG: &str = "[system]\nprompt = \"Be kind.\"\n[limits]\nrounds = 2\n[budget]\ntokens = 100000\n\
                      [settings]\neffort = \"low\"\n\
                      [prices.\"claude/claude-opus-5-5\"]\ninput = 1\noutput = 5\n";

async fn gateway(files: &Kept, script: impl Into<Script>) -> (Gateway, ScriptedClaude) {
    let claude = ScriptedClaude::start(script).await;
    let running = files.gateway().at_with(&claude.base_url(), CONFIG).start();
    (Gateway::listening(running).await, claude)
}

/// What the turns of a session were given, as its events tell it.
async fn given(gateway: &Gateway, session: &str) -> Vec<Value> {
    let events = gateway.get(&format!("{session}/events?until=rest"));
    let events = events.answered().await;
    let data = events
        .body
        .lines()
        .filter_map(|line| line.strip_prefix("data: "));
    let told = data.map(|data| serde_json::from_str::<Value>(data).expect("JSON"));
    told.filter(|event| event["event"] == "turn_started")
        .map(|event| event["given"].clone())
        .collect()
}

#[tokio::test]
async fn a_message_has_its_own_instructions_settings_and_limits_and_its_turn_says_so() {
    let files = Kept::new();
    let (gateway, claude) = gateway(&files, [ScriptTurn::text("Good day.").again()]).await;
    let session = session(&gateway).await;
    let own = json!({
        "system": "Answer in rhymes.",
        "settings": { "effort": "high", "max_output_tokens": 300, "temperature": 0.5, "stop": ["END"] },
        "limits": { "active_ms": 60_000, "cost": "0.5", "rounds": 1, "tokens": 5_000 },
    });
    let mut message = own.clone();
    message["message"] = json!("Hi");
    post(&gateway, &session, &message).await.is(200);
    let usual = json!({
        "message": "Hi", "settings": { "effort": "low" },
        "limits": { "rounds": 50, "tokens": 9_000_000_000_u64 },
    });
    post(&gateway, &session, &usual).await.is(200);
    let plain = json!({ "message": "Hi", "system": "" });
    post(&gateway, &session, &plain).await.is(200);
    // The longest time is a time like others.
    let endless = json!({ "message": "Hi", "limits": { "active_ms": u64::MAX } });
    post(&gateway, &session, &endless).await.is(200);
    post(&gateway, &session, &json!({ "message": "Hi" }))
        .await
        .is(200);
    let raised = json!({ "settings": usual["settings"], "limits": usual["limits"] });
    let none = json!({ "system": "", "settings": {}, "limits": {} });
    let long = json!({ "settings": {}, "limits": { "active_ms": u64::MAX } });
    assert_eq!(
        given(&gateway, &session).await,
        [own, raised, none, long, Value::Null]
    );
    let requests = claude.requests();
    let text = requests[0]["system"].to_string();
    assert!(text.contains("rhymes") && !text.contains("kind"), "{text}");
    assert_eq!(requests[0]["max_tokens"], 300);
    // The last round of a turn has no tools.
    assert_eq!(requests[0]["tool_choice"]["type"], "none");
    assert_ne!(requests[1]["tool_choice"]["type"], "none");
    assert!(requests[1]["system"].to_string().contains("kind"));
    kept(&claude);
    gateway.end().await;
}

#[tokio::test]
async fn a_limit_above_the_configured_one_raises_nothing() {
    let files = Kept::new();
    let calls = ScriptTurn::call("calculator", &json!({ "expression": "1+1" }));
    let (gateway, claude) = gateway(&files, [calls, ScriptTurn::text("It is 2.")]).await;
    let session = session(&gateway).await;
    let body = json!({ "message": "1+1?", "limits": { "rounds": 9 } });
    let turn = post(&gateway, &session, &body).await.is(200);
    assert_eq!(
        (&turn["rounds"], &turn["end"]["limit"]),
        (&json!(2), &json!("rounds"))
    );
    kept(&claude);
    gateway.end().await;
}

#[tokio::test]
async fn a_wrong_limit_is_refused_by_its_name() {
    let files = Kept::new();
    let (gateway, _claude) = gateway(&files, []).await;
    let session = session(&gateway).await;
    for (limits, pointer) in [
        (json!({ "rounds": 0 }), "/limits/rounds"),
        (json!({ "active_ms": 0 }), "/limits/active_ms"),
        (json!({ "tokens": 0 }), "/limits/tokens"),
        (json!({ "cost": "0" }), "/limits/cost"),
        (json!({ "cost": "-1" }), "/limits/cost"),
        (json!({ "cost": "1 EUR" }), "/limits/cost"),
    ] {
        let body = json!({ "message": "Hi", "limits": limits });
        let problem = is_problem(&post(&gateway, &session, &body).await, 400, "invalid");
        assert_eq!(problem["pointer"], pointer, "{problem}");
    }
    let body = json!({ "message": "Hi", "limits": { "approval": 5 } });
    is_problem(&post(&gateway, &session, &body).await, 400, "invalid");
    gateway.end().await;
}
