//! Reasoning comes back as it was, with what it belongs to.

#![expect(clippy::unwrap_used, reason = "a broken answer fails the test")]

use jackfield_testservers::openai::{ScriptedOpenAi, VendorQuirks};
use jackfield_testservers::script::{ScriptPart, ScriptTurn};
use serde_json::{Value, json};

use crate::http::ask;

const RESPONSES: &str = "/v1/responses";

fn thinking_words_and_call() -> ScriptTurn {
    ScriptTurn::reply([
        ScriptPart::Thinking {
            signature: "c2VjcmV0".to_owned(),
            text: "Hm.".to_owned(),
        },
        ScriptPart::Call {
            arguments: "{}".to_owned(),
            id: None,
            name: "add".to_owned(),
        },
        ScriptPart::Text("One moment.".to_owned()),
    ])
}

fn body(input: Value) -> Value {
    json!({
        "model": "gpt-6.2-sol",
        "store": false,
        "reasoning": { "summary": "auto" },
        "tools": [{ "type": "function", "name": "add", "strict": false, "parameters": null }],
        "input": input,
    })
}

/// Asks twice, the second time with what came the first time, changed.
async fn twice(change: impl FnOnce(&mut Value)) -> Vec<String> {
    let server =
        ScriptedOpenAi::start([thinking_words_and_call(), ScriptTurn::text("Done.")]).await;
    let base = server.base_url();
    let user = json!({ "role": "user", "content": "a" });
    let first = ask(&base, RESPONSES, &body(json!([user]))).await.json();
    let said = first["output"].as_array().unwrap();
    let output =
        json!({ "type": "function_call_output", "call_id": said[1]["call_id"], "output": "2" });
    let mut second = body(json!([user, said[0], said[1], said[2], output]));
    change(&mut second);
    ask(&base, RESPONSES, &second).await;
    server.violations()
}

#[tokio::test]
async fn reasoning_that_comes_back_as_it_was_is_taken() {
    assert_eq!(twice(|_| {}).await, [""; 0]);
    // Of the items' own ids and states nothing depends on it.
    let bare = |body: &mut Value| {
        for name in ["id", "status"] {
            body["input"][2].as_object_mut().unwrap().remove(name);
        }
        body["input"][3] = json!({ "role": "assistant", "content": "One moment." });
    };
    assert_eq!(twice(bare).await, [""; 0]);
}

#[tokio::test]
async fn another_model_gets_the_call_without_the_reasoning() {
    let switched = |body: &mut Value| {
        body["model"] = json!("gpt-6-luna");
        body["input"].as_array_mut().unwrap().remove(1);
    };
    assert_eq!(twice(switched).await, [""; 0]);
}

type Change = fn(&mut Value);

#[tokio::test]
async fn each_change_to_what_was_said_is_found() {
    let changes: &[(Change, &str)] = &[
        (
            |body| body["input"][1]["encrypted_content"] = json!("Zm9yZ2Vk"),
            "could not be verified",
        ),
        (
            |body| body["input"][1]["id"] = json!("rs_other"),
            "The encrypted content for item rs_other could not be verified.",
        ),
        (
            |body| body["input"][1]["encrypted_content"] = json!(null),
            "Items are not persisted when `store` is set to false.",
        ),
        (
            |body| body["input"][1]["summary"] = json!([]),
            "is not the one that was given out",
        ),
        (
            |body| drop(body["input"].as_array_mut().unwrap().remove(1)),
            "was provided without its required 'reasoning' item: 'rs_",
        ),
        (
            |body| body["input"].as_array_mut().unwrap().swap(2, 3),
            "was provided without its required following item.",
        ),
        (
            |body| body["model"] = json!("gpt-6-luna"),
            "is the reasoning of gpt-6.2-sol",
        ),
        (
            |body| body["input"][3]["phase"] = json!(null),
            "input[3].phase: the phase of the message is not",
        ),
        (
            |body| body["input"][3]["content"][0]["text"] = json!("Two moments."),
            "the message is not the one that was given out",
        ),
        (
            |body| body["previous_response_id"] = json!("resp_other"),
            "Previous response with id 'resp_other' not found.",
        ),
    ];
    for (change, fault) in changes {
        let violations = twice(change).await;
        assert!(
            violations.iter().any(|line| line.contains(fault)),
            "{fault}: {violations:#?}"
        );
    }
}

#[tokio::test]
async fn deepseek_gets_its_own_words_back() {
    for (echo, faults) in [("Hm.", 0), ("Hm!", 1), ("", 1)] {
        let server = ScriptedOpenAi::like(
            VendorQuirks::DeepSeek,
            [thinking_words_and_call(), ScriptTurn::text("Done.")],
        )
        .await;
        let base = server.base_url();
        let user = json!({ "role": "user", "content": "a" });
        let mut body = json!({ "model": "deepseek-flash", "messages": [user] });
        let path = "/chat/completions";
        let first = ask(&base, path, &body).await.json();
        let mut message = first["choices"][0]["message"].clone();
        message["reasoning_content"] = json!(echo);
        let id = message["tool_calls"][0]["id"].clone();
        let result = json!({ "role": "tool", "tool_call_id": id, "content": "2" });
        body["messages"] = json!([user, message, result]);
        ask(&base, path, &body).await;
        let violations = server.violations();
        assert_eq!(violations.len(), faults, "{violations:?}");
        assert!(
            violations
                .iter()
                .all(|line| line.contains("not the reasoning that these calls came with"))
        );
    }
}
