//! Arguments of a client's calls in streams of the gateway: while the model writes them, and what becomes of
//! those that turn out to be broken.

use jackfield_testkit::server::Gate;
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::{ScriptPart, ScriptTurn};
use serde_json::{Value, json};

use crate::harness::{Answer, Gateway, Kept, kept};

const MODEL: &str = "claude-sonnet-5";

/// A dialect: where it is asked, what for, and what an event has of the arguments.
struct Dialect {
    body: fn() -> Value,
    path: &'static str,
    piece: fn(&Value) -> Option<&str>,
}

const DIALECTS: [Dialect; 3] = [
    Dialect {
        body: messages,
        path: "/v1/messages",
        piece: |event| event["delta"]["partial_json"].as_str(),
    },
    Dialect {
        body: chat,
        path: "/v1/chat/completions",
        piece: |event| {
            event["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"].as_str()
        },
    },
    Dialect {
        body: responses,
        path: "/v1/responses",
        piece: |event| {
            let is_it = event["type"] == "response.function_call_arguments.delta";
            event["delta"].as_str().filter(|_| is_it)
        },
    },
];

fn messages() -> Value {
    json!({
        "model": MODEL, "max_tokens": 500, "stream": true,
        "messages": [{ "role": "user", "content": "write it" }],
        "tools": [{ "name": "write", "input_schema": { "type": "object" } }],
    })
}

fn chat() -> Value {
    json!({
        "model": MODEL, "stream": true,
        "messages": [{ "role": "user", "content": "write it" }],
        "tools": [{ "type": "function", "function": {
            "name": "write", "parameters": { "type": "object" },
        } }],
    })
}

fn responses() -> Value {
    json!({
        "model": MODEL, "stream": true, "input": "write it",
        "tools": [{
            "type": "function", "name": "write", "parameters": { "type": "object" }, "strict": false,
        }],
    })
}

/// The arguments that an answer has, piece by piece.
fn pieces(answer: &Answer, piece: fn(&Value) -> Option<&str>) -> Vec<String> {
    let events = answer.json_events();
    let pieces = events.iter().filter_map(piece);
    let pieces = pieces.filter(|piece| !piece.is_empty());
    pieces.map(str::to_owned).collect()
}

fn broken() -> ScriptPart {
    ScriptPart::Call {
        arguments: "{\"path\": \"a.txt\", \"text\": ".to_owned(),
        id: None,
        name: "write".to_owned(),
    }
}

#[tokio::test]
async fn they_are_told_while_the_model_writes_them() {
    let text = "again and ".repeat(400);
    let arguments = json!({ "path": "a.txt", "text": text });
    for Dialect { body, path, piece } in DIALECTS {
        let gate = Gate::new();
        let turn = ScriptTurn::call("write", &arguments).recut(200);
        let claude = ScriptedClaude::start([turn.pause_after(2_000, &gate)]).await;
        let sessions = Kept::new();
        let serve = sessions.gateway().at(&claude.base_url());
        let gateway = Gateway::listening(serve.start()).await;
        let mut sent = gateway.post(path, &body()).sent().await;
        // The model has not written all of it.
        sent.until("again").await;
        gate.open();
        let answer = sent.answered().await;
        let pieces = pieces(&answer, piece);
        assert!(pieces.len() > 2, "{path}: {} pieces", pieces.len());
        let told: Value = serde_json::from_str(&pieces.concat()).expect("arguments");
        assert_eq!(told, arguments, "{path}");
        gateway.end().await;
        kept(&claude);
    }
}

#[tokio::test]
async fn broken_ones_end_the_stream_with_an_error_and_the_session_goes_on() {
    for Dialect { body, path, piece } in DIALECTS {
        let claude = ScriptedClaude::start([
            ScriptTurn::text("Here.").and(broken()),
            ScriptTurn::text("I am still here.").when("there?"),
        ])
        .await;
        let sessions = Kept::new();
        let serve = sessions.gateway().at(&claude.base_url());
        let gateway = Gateway::listening(serve.start()).await;
        let asked = gateway.post(path, &body()).header("idempotency-key", "k");
        let answer = asked.answered().await;
        let shown = pieces(&answer, piece).concat();
        assert!(shown.starts_with("{\"path\""), "{path}: {}", answer.body);
        assert!(
            answer.body.contains("are not a JSON object"),
            "{path}: {}",
            answer.body
        );
        for whole in [
            "[DONE]",
            "message_stop",
            "response.completed",
            "arguments.done",
        ] {
            assert!(!answer.body.contains(whole), "{path}: {}", answer.body);
        }
        gateway.end().await;
        drop(claude);
    }
}

#[tokio::test]
async fn a_setting_has_broken_ones_repaired_unseen() {
    for Dialect { body, path, piece } in DIALECTS {
        let good = json!({ "path": "b.txt" });
        let claude = ScriptedClaude::start([
            ScriptTurn::reply([broken()]),
            ScriptTurn::call("write", &good).when("not a valid JSON object"),
        ])
        .await;
        let sessions = Kept::new();
        let more = "[serve]\nstream_arguments = false\npassthrough = \"never\"\n";
        let serve = sessions.gateway().at_with(&claude.base_url(), more);
        let gateway = Gateway::listening(serve.start()).await;
        let answer = gateway.post(path, &body()).answered().await;
        let told: Value = serde_json::from_str(&pieces(&answer, piece).concat()).expect("JSON");
        assert_eq!(told, good, "{path}");
        gateway.end().await;
        kept(&claude);
    }
}

#[tokio::test]
async fn what_is_cut_off_ends_as_cut_off() {
    for Dialect { body, path, piece } in DIALECTS {
        let turn =
            ScriptTurn::reply([broken()]).finish(jackfield_domain::reply::FinishReason::Length);
        let claude = ScriptedClaude::start([turn]).await;
        let sessions = Kept::new();
        let serve = sessions.gateway().at(&claude.base_url());
        let gateway = Gateway::listening(serve.start()).await;
        let answer = gateway.post(path, &body()).answered().await;
        assert_eq!(
            pieces(&answer, piece).concat(),
            "{\"path\": \"a.txt\", \"text\": ",
            "{path}"
        );
        let words = ["\"max_tokens\"", "\"length\"", "response.incomplete"];
        let told = words.iter().filter(|word| answer.body.contains(**word));
        assert!(told.count() > 0, "{path}: {}", answer.body);
        gateway.end().await;
        kept(&claude);
    }
}
