//! Servers remember what they said, and take it back only as it was.

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::{ScriptPart, ScriptTurn};
use serde_json::{Value, json};

use crate::http::{post, question};

/// A thought that Claude signs, and then a conversation that has it.
async fn thought(server: &ScriptedClaude, change: impl FnOnce(&mut Value)) {
    let base = server.base_url();
    let first = post(&base, "/v1/messages", &question("a").to_string()).await;
    let mut said = first.json()["content"].clone();
    change(&mut said);
    let mut body = question("a");
    body["messages"] = json!([
        { "role": "user", "content": "a" },
        { "role": "assistant", "content": said },
        { "role": "user", "content": "b" },
    ]);
    post(&base, "/v1/messages", &body.to_string()).await;
}

fn thinking_and_words() -> [ScriptTurn; 2] {
    let thinking = ScriptPart::Thinking {
        signature: "c2lnbmVk".to_owned(),
        text: "Hm.".to_owned(),
    };
    let words = ScriptPart::Text("One.".to_owned());
    [
        ScriptTurn::reply([thinking, words]),
        ScriptTurn::text("Two."),
    ]
}

#[tokio::test]
async fn claude_takes_its_thinking_back_as_it_was() {
    let server = ScriptedClaude::start(thinking_and_words()).await;
    thought(&server, |_| {}).await;
    assert_eq!(server.violations(), [""; 0]);
    assert_eq!(server.unused(), 0);
}

#[tokio::test]
async fn claude_refuses_thinking_that_was_changed_or_is_not_its_own() {
    for (field, value, fault) in [
        (
            "thinking",
            "Hm!",
            "request 1: messages.1.content.0: `thinking` blocks cannot be modified",
        ),
        (
            "signature",
            "Zm9yZ2Vk",
            "request 1: messages.1.content.0: Invalid `signature` in `thinking` block",
        ),
    ] {
        let server = ScriptedClaude::start(thinking_and_words()).await;
        thought(&server, |said| said[0][field] = json!(value)).await;
        assert_eq!(server.violations(), [fault]);
    }
}

/// A thought and a call, and then its outcome, changed.
async fn answered(change: impl FnOnce(&mut Value)) -> Vec<String> {
    let turns = thinking_and_words().map(|turn| turn.and_call("add", &json!({})));
    let server = ScriptedClaude::start(turns).await;
    let base = server.base_url();
    let mut body = question("a");
    body["tools"] = json!([{ "name": "add", "input_schema": { "type": "object" } }]);
    let first = post(&base, "/v1/messages", &body.to_string()).await;
    let said = first.json()["content"].clone();
    let result = json!({ "type": "tool_result", "tool_use_id": said[2]["id"], "content": "2" });
    body["messages"] = json!([
        { "role": "user", "content": "a" },
        { "role": "assistant", "content": said },
        { "role": "user", "content": [result] },
    ]);
    change(&mut body);
    post(&base, "/v1/messages", &body.to_string()).await;
    server.violations()
}

fn forget_thinking(body: &mut Value) {
    if let Some(blocks) = body["messages"][1]["content"].as_array_mut() {
        blocks.remove(0);
    }
}

#[tokio::test]
async fn claude_wants_its_thinking_back_while_its_calls_are_answered() {
    assert_eq!(answered(|_| {}).await, [""; 0]);
    assert_eq!(
        answered(forget_thinking).await,
        [
            "request 1: messages.1.content.1: Expected `thinking` or `redacted_thinking`, but found `tool_use`"
        ]
    );
    // After the turn it may be left out.
    let later = |body: &mut Value| {
        forget_thinking(body);
        if let Some(messages) = body["messages"].as_array_mut() {
            messages.push(json!({ "role": "assistant", "content": "2" }));
            messages.push(json!({ "role": "user", "content": "b" }));
        }
    };
    assert_eq!(answered(later).await, [""; 0]);
}

#[tokio::test]
async fn claude_keeps_the_thinking_of_two_models_apart() {
    let switched = |body: &mut Value| body["model"] = json!("claude-sonnet-5-5");
    assert_eq!(
        answered(switched).await,
        ["request 1: messages.1.content.0: this `thinking` block is bound to claude-opus-5-5"]
    );
    let withheld = |body: &mut Value| {
        switched(body);
        forget_thinking(body);
    };
    assert_eq!(answered(withheld).await, [""; 0]);
}
