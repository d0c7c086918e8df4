//! Servers remember what they said, and take it back only as it was.

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::{Part, Turn};
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

fn thinking_and_words() -> [Turn; 2] {
    let thinking = Part::Thinking {
        signature: "c2lnbmVk".to_owned(),
        text: "Hm.".to_owned(),
    };
    let words = Part::Text("One.".to_owned());
    [Turn::reply([thinking, words]), Turn::text("Two.")]
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
