//! `X-Session-ID: new`: a session for a client that has nothing but tools of its own.

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::harness::{Answer, Gateway, Kept, kept, offered};

const CHAT: &str = "/v1/chat/completions";

/// The name that clients have for the model.
const MODEL: &str = "custom-claude-4-sonnet";

async fn gateway(claude: &ScriptedClaude, sessions: &Kept) -> Gateway {
    let alias = "[aliases]\ncustom-claude-4-sonnet = \"claude/claude-sonnet-5\"\n";
    let serve = sessions.gateway().plain();
    let serve = serve.at_with(&claude.base_url(), alias);
    Gateway::listening(serve.start()).await
}

fn asks(is_streamed: bool) -> Value {
    json!({
        "model": MODEL,
        "stream": is_streamed,
        "messages": [{ "role": "user", "content": "please compute 123 + 456" }],
        "tools": [{ "type": "function", "function": { "name": "calculate", "parameters": {
            "type": "object", "properties": { "expression": { "type": "string" } },
        } } }],
    })
}

/// The assistant's message of an answer, and why it ended.
fn message(answer: &Answer, is_streamed: bool) -> (Value, Value) {
    if !is_streamed {
        let said = answer.is(200);
        let choice = &said["choices"][0];
        return (choice["message"].clone(), choice["finish_reason"].clone());
    }
    let (mut content, mut calls, mut finish) = (String::new(), Vec::<Value>::new(), Value::Null);
    for event in answer.json_events() {
        let choice = &event["choices"][0];
        content += choice["delta"]["content"].as_str().unwrap_or_default();
        for call in choice["delta"]["tool_calls"]
            .as_array()
            .into_iter()
            .flatten()
        {
            if call["id"].is_string() {
                calls.push(call.clone());
            } else if let Some(last) = calls.last_mut() {
                let more = call["function"]["arguments"].as_str().unwrap_or_default();
                let before = last["function"]["arguments"].as_str().unwrap_or_default();
                last["function"]["arguments"] = format!("{before}{more}").into();
            }
        }
        if !choice["finish_reason"].is_null() {
            finish = choice["finish_reason"].clone();
        }
    }
    assert_eq!(answer.events().last().map(String::as_str), Some("[DONE]"));
    let content = if content.is_empty() {
        Value::Null
    } else {
        content.into()
    };
    let mut message = json!({ "role": "assistant", "content": content });
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    (message, finish)
}

/// The client runs the tool and sends the history again with its result, and without `tools`.
#[tokio::test]
async fn s3_02_a_clients_result_finds_its_turn_although_the_gateway_was_killed() {
    for is_streamed in [false, true] {
        // As the header has it: the session, none, or `new` again.
        for again in [Some(true), None, Some(false)] {
            let claude = ScriptedClaude::start([
                ScriptTurn::call("calculate", &json!({ "expression": "123 + 456" })),
                ScriptTurn::text("It is 579."),
            ])
            .await;
            let sessions = Kept::new();
            let first = gateway(&claude, &sessions).await;
            let mut body = asks(is_streamed);
            let asking = first.post(CHAT, &body).header("x-session-id", "new");
            let answer = asking.answered().await;
            let (said, finish) = message(&answer, is_streamed);
            assert_eq!(finish, "tool_calls");
            assert_eq!(said["content"], Value::Null);
            let call = &said["tool_calls"][0];
            assert_eq!(
                call["function"]["arguments"],
                "{\"expression\":\"123 + 456\"}"
            );
            let session = answer.header("x-session-id").to_owned();
            assert_ne!(session, "new");
            first.running.kill();
            first.running.end().await;

            let second = gateway(&claude, &sessions).await;
            let result = json!({ "role": "tool", "tool_call_id": call["id"], "content": "579" });
            body["messages"] = json!([body["messages"][0], said, result]);
            body.as_object_mut().expect("fields").remove("tools");
            let mut asking = second.post(CHAT, &body);
            if let Some(by_id) = again {
                let value = if by_id { session.as_str() } else { "new" };
                asking = asking.header("x-session-id", value);
            }
            let answer = asking.answered().await;
            let (said, finish) = message(&answer, is_streamed);
            assert_eq!(
                (&said["content"], finish),
                (&json!("It is 579."), json!("stop"))
            );
            assert_eq!(answer.header("x-session-id"), session, "{again:?}");
            // The session remembers which tools were allowed.
            let requests = claude.requests();
            assert_eq!(offered(&requests[1]), ["calculate"]);
            assert!(requests[1]["messages"].to_string().contains("579"));
            second.end().await;
            kept(&claude);
        }
    }
}

#[tokio::test]
async fn each_new_session_is_one_of_its_own() {
    let claude = ScriptedClaude::start([ScriptTurn::text("Hello.").again()]).await;
    let sessions = Kept::new();
    let gateway = gateway(&claude, &sessions).await;
    let hi = json!({ "role": "user", "content": "hi" });
    let said = json!({ "role": "assistant", "content": "Hello." });
    let alone = json!({ "model": MODEL, "messages": [hi] });
    let whole = json!({ "model": MODEL, "messages": [hi, said, hi] });
    let mut seen = Vec::new();
    for body in [&alone, &alone, &whole, &whole] {
        let asking = gateway.post(CHAT, body).header("x-session-id", "new");
        let answer = asking.answered().await;
        answer.is(200);
        let session = answer.header("x-session-id").to_owned();
        assert!(!seen.contains(&session), "{session} again");
        seen.push(session);
        // The model gets the whole conversation.
        let requests = claude.requests();
        let last = requests.last().expect("a request");
        let messages = body["messages"].as_array().map(Vec::len);
        assert_eq!(last["messages"].as_array().map(Vec::len), messages);
    }
    // Each can be continued by its id.
    let asking = gateway.post(CHAT, &json!({ "model": MODEL, "messages": [hi] }));
    let answer = asking.header("x-session-id", &seen[0]).answered().await;
    answer.is(200);
    assert_eq!(answer.header("x-session-id"), seen[0]);
    let list = sessions.run(&["sessions", "list", "--json"]).run().await;
    let list: Value = serde_json::from_str(&list.out).expect("a list");
    assert_eq!(list.as_array().map(Vec::len), Some(seen.len()));
    gateway.end().await;
}
