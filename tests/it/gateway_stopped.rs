//! Clients that break an answer off, as when somebody presses a key, and what they say then.

use std::time::Duration;

use jackfield_testkit::server::Gate;
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::harness::{Gateway, Kept, kept};

const CHAT: &str = "/v1/chat/completions";
const MESSAGES: &str = "/v1/messages";
const MODEL: &str = "claude-sonnet-5";
/// A client that breaks off a request that is passed through breaks off the provider's.
const TURNS: &str = "serve.passthrough = \"never\"\n";

async fn gateway(claude: &ScriptedClaude, sessions: &Kept, more: &str) -> Gateway {
    let serve = sessions.gateway().at_with(&claude.base_url(), more);
    Gateway::listening(serve.start()).await
}

fn weather() -> Value {
    json!([{ "name": "weather", "input_schema": { "type": "object" } }])
}

fn asks(messages: &Value) -> Value {
    json!({ "model": MODEL, "max_tokens": 500, "messages": messages, "stream": true })
}

fn result(call: &str) -> Value {
    json!({ "type": "tool_result", "tool_use_id": call, "content": "Rain." })
}

/// The last message that the model was sent.
fn sent_last(claude: &ScriptedClaude) -> Value {
    let last = claude.requests().pop().expect("a request");
    let messages = last["messages"].as_array().expect("messages");
    messages.last().expect("a message").clone()
}

/// The sessions that are kept.
async fn listed(sessions: &Kept) -> Vec<Value> {
    let ran = sessions.run(&["sessions", "list", "--json"]).run().await;
    serde_json::from_str(&ran.out).unwrap_or_else(|fault| panic!("{fault}: {}", ran.out))
}

#[tokio::test]
async fn whoever_breaks_off_the_reply_to_results_goes_on_behind_them_with_other_words() {
    // Of a turn that is kept nowhere, and of one that is kept.
    for tools in ["none", "builtin/*"] {
        let gate = Gate::new();
        let claude = ScriptedClaude::start([
            ScriptTurn::call("weather", &json!({})),
            ScriptTurn::text("Take a boat.").pause_after(0, &gate),
            ScriptTurn::text("Take a train."),
        ])
        .await;
        let sessions = Kept::new();
        let gateway = gateway(&claude, &sessions, TURNS).await;
        let tools = ("x-jackfield-tools", tools);
        let question = json!({ "role": "user", "content": "How do I get to Porto?" });
        let mut body = asks(&json!([question]));
        body["tools"] = weather();
        let asking = gateway.post(MESSAGES, &body).header(tools.0, tools.1);
        let events = asking.answered().await.json_events();
        let mut blocks = events.iter().map(|event| &event["content_block"]);
        let called = blocks.find(|block| block["type"] == "tool_use");
        let called = called.expect("a call").clone();
        let call = called["id"].as_str().expect("an id");
        let answered = |blocks: Value| {
            asks(&json!([
                question,
                { "role": "assistant", "content": [called] },
                { "role": "user", "content": blocks },
            ]))
        };
        // Nothing of the reply to the result has come when its client breaks it off.
        let broken = answered(json!([result(call)]));
        let broken = gateway.post(MESSAGES, &broken).header(tools.0, tools.1);
        let broken = broken.sent().await;
        gate.reached().await;
        drop(broken);
        let said = [
            json!({ "type": "text", "text": "[interrupted]" }),
            json!({ "type": "text", "text": "No boat!" }),
        ];
        let next = answered(json!([result(call), said[0], said[1]]));
        let next = gateway.post(MESSAGES, &next).header(tools.0, tools.1);
        let next = next.answered().await;
        assert_eq!(next.status, 200, "{tools:?}: {next:?}");
        assert!(next.said().contains("Take a train."), "{next:?}");
        // The model is told what its client has: the result as it was brought, and the words behind it.
        let sent = sent_last(&claude);
        let sent = sent["content"].as_array().expect("blocks");
        let [brought, words @ ..] = &sent[..] else {
            panic!("{sent:?}");
        };
        assert_eq!(brought["type"], "tool_result", "{sent:?}");
        assert!(brought["content"].to_string().contains("Rain."), "{sent:?}");
        let words: Vec<&Value> = words.iter().map(|block| &block["text"]).collect();
        assert_eq!(words, ["[interrupted]", "No boat!"], "{sent:?}");
        // Nobody said again which tools there are.
        let last = claude.requests().pop().expect("a request");
        assert!(last["tools"].to_string().contains("weather"), "{last}");
        // Another result is another one still.
        let other = json!({ "type": "tool_result", "tool_use_id": call, "content": "Sun." });
        let other = gateway.post(MESSAGES, &answered(json!([other, said[0]])));
        let other = other.answered().await;
        assert_eq!(other.status, 409, "{other:?}");
        gate.open();
        gateway.end().await;
        kept(&claude);
    }
}

#[tokio::test]
async fn words_beside_results_may_be_edited_and_the_conversation_parts_there() {
    // Of a turn that is kept nowhere, and of one that is kept.
    for tools in ["none", "builtin/*"] {
        let claude = ScriptedClaude::start([
            ScriptTurn::call("weather", &json!({})),
            ScriptTurn::text("Take a boat."),
            ScriptTurn::text("Take a train."),
            ScriptTurn::text("At noon."),
        ])
        .await;
        let sessions = Kept::new();
        let gateway = gateway(&claude, &sessions, TURNS).await;
        let question = json!({ "role": "user", "content": "How do I get to Porto?" });
        let post = async |messages: Value| {
            let mut body = asks(&messages);
            body["stream"] = json!(false);
            body["tools"] = weather();
            let asking = gateway.post(MESSAGES, &body);
            let asking = asking.header("x-jackfield-tools", tools);
            asking.answered().await.is(200)
        };
        let called = post(json!([question])).await["content"][0].clone();
        let call = called["id"].as_str().expect("an id");
        let with = |words: &str| {
            let words = json!({ "type": "text", "text": words });
            json!([
                question,
                { "role": "assistant", "content": [called] },
                { "role": "user", "content": [result(call), words] },
            ])
        };
        let boat = post(with("By water.")).await;
        assert_eq!(boat["content"][0]["text"], "Take a boat.");
        let edited = with("By land.");
        let train = post(edited.clone()).await;
        assert_eq!(train["content"][0]["text"], "Take a train.");
        let sent = claude.requests().pop().expect("a request").to_string();
        assert!(
            sent.contains("By land.") && !sent.contains("By water."),
            "{sent}"
        );
        // And it goes on from there.
        let mut on = edited;
        let more = on.as_array_mut().expect("messages");
        more.push(json!({ "role": "assistant", "content": train["content"] }));
        more.push(json!({ "role": "user", "content": "When?" }));
        assert_eq!(post(on).await["content"][0]["text"], "At noon.");
        gateway.end().await;
        kept(&claude);
    }
}

#[tokio::test]
async fn a_turn_is_cancelled_with_its_client_if_that_is_set_and_begun_anew_when_it_comes_again() {
    for stream in [false, true] {
        let gate = Gate::new();
        let claude = ScriptedClaude::start([
            ScriptTurn::text("Lost.").pause_after(0, &gate),
            ScriptTurn::text("Here it is."),
        ])
        .await;
        let sessions = Kept::new();
        let more = "[serve]\ndisconnect = \"cancel\"\nkeep_alive = \"20ms\"\n";
        let gateway = gateway(&claude, &sessions, more).await;
        let question = json!([{ "role": "user", "content": "Do it." }]);
        let body = json!({ "model": MODEL, "messages": question, "stream": stream });
        let mut asking = gateway.post(CHAT, &body).sent().await;
        gate.reached().await;
        if stream {
            // Something of its answer was written, and not all.
            asking.until(": keep-alive").await;
        }
        drop(asking);
        let cancelled = async {
            loop {
                let rows = listed(&sessions).await;
                if rows.first().is_some_and(|row| row["open"].is_null()) {
                    return;
                }
            }
        };
        let patience = Duration::from_secs(60);
        let ended = tokio::time::timeout(patience, cancelled).await;
        assert!(ended.is_ok(), "it goes on (stream: {stream})");
        let again = gateway.post(CHAT, &body).answered().await;
        assert_eq!(again.status, 200, "{again:?}");
        assert!(again.said().contains("Here it is."), "{again:?}");
        gate.open();
        gateway.end().await;
    }
}
