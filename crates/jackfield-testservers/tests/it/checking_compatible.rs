//! Servers that say that they are compatible: what they are strict about, and what they do not mind.

use jackfield_testservers::openai::{VendorQuirks, chat};
use serde_json::{Value, json};

use crate::edit::set;

/// A conversation that all of them take.
fn good() -> Value {
    json!({
        "model": "some-model",
        "max_tokens": 64,
        "tools": [{ "type": "function", "function": { "name": "add" } }],
        "messages": [
            { "role": "system", "content": "Be brief." },
            { "role": "user", "content": "1 + 1?" },
            { "role": "assistant", "content": "", "tool_calls": [
                { "id": "abcdefgh1", "type": "function", "function": { "name": "add", "arguments": "{}" } },
            ]},
            { "role": "tool", "tool_call_id": "abcdefgh1", "content": "2" },
        ],
    })
}

/// The same for DeepSeek, which wants its reasoning.
fn good_for(like: VendorQuirks) -> Value {
    let mut body = good();
    if like == VendorQuirks::DeepSeek {
        body["messages"][2]["reasoning_content"] = json!("");
    }
    body
}

fn faults(body: &Value, like: VendorQuirks) -> Vec<String> {
    let found = chat::check(body, like);
    found.iter().map(ToString::to_string).collect()
}

#[track_caller]
fn breaks(like: VendorQuirks, changes: &[(&str, Value, &str)]) {
    for (pointer, value, fault) in changes {
        let mut body = good_for(like);
        set(&mut body, pointer, value.clone());
        let found = faults(&body, like);
        assert!(
            found.iter().any(|line| line.contains(fault)),
            "{like:?} {pointer} {value}: {found:#?}"
        );
    }
}

const COMPATIBLE: [VendorQuirks; 3] = [
    VendorQuirks::DeepSeek,
    VendorQuirks::Mistral,
    VendorQuirks::Ollama,
];

#[test]
fn a_good_request_has_no_faults() {
    for like in COMPATIBLE {
        assert_eq!(
            faults(&good_for(like), like),
            Vec::<String>::new(),
            "{like:?}"
        );
    }
}

#[test]
fn none_has_what_only_the_vendor_has() {
    for like in COMPATIBLE {
        breaks(
            like,
            &[
                (
                    "/messages/0/role",
                    json!("developer"),
                    "Invalid value: 'developer'",
                ),
                (
                    "/tools/0",
                    json!({ "type": "custom", "custom": { "name": "run" } }),
                    "Invalid value: 'custom'",
                ),
                (
                    "/tool_choice",
                    json!({ "type": "allowed_tools" }),
                    "tool_choice.type: Invalid value: 'allowed_tools'",
                ),
                (
                    "/messages/3",
                    json!({ "role": "user", "content": "well?" }),
                    "messages[3].role",
                ),
            ],
        );
    }
}

#[test]
fn fields_that_are_not_known_are_read_over_or_refused() {
    for like in COMPATIBLE {
        let mut body = good_for(like);
        body["keep_alive"] = json!("5m");
        let found = faults(&body, like);
        if like == VendorQuirks::Mistral {
            assert_eq!(found, ["keep_alive: Extra inputs are not permitted"]);
        } else {
            assert_eq!(found, [""; 0], "{like:?}");
        }
    }
}

#[test]
fn deepseek_wants_its_reasoning_in_every_turn_with_calls() {
    let fault = "The `reasoning_content` in the thinking mode must be passed back to the API.";
    let found = faults(&good(), VendorQuirks::DeepSeek);
    assert_eq!(found, [format!("messages[2]: {fault}")]);
    // A later question does not change that, and the answer of the turn has to have it, too.
    let mut body = good_for(VendorQuirks::DeepSeek);
    set(
        &mut body,
        "/messages/4",
        json!({ "role": "assistant", "content": "2" }),
    );
    set(
        &mut body,
        "/messages/5",
        json!({ "role": "user", "content": "thanks" }),
    );
    assert_eq!(
        faults(&body, VendorQuirks::DeepSeek),
        [format!("messages[4]: {fault}")]
    );
    body["messages"][4]["reasoning_content"] = json!("So.");
    assert_eq!(faults(&body, VendorQuirks::DeepSeek), [""; 0]);
    // A turn without calls needs none.
    set(
        &mut body,
        "/messages/6",
        json!({ "role": "assistant", "content": "You are welcome." }),
    );
    set(
        &mut body,
        "/messages/7",
        json!({ "role": "user", "content": "bye" }),
    );
    assert_eq!(faults(&body, VendorQuirks::DeepSeek), [""; 0]);
    // Nor does a model that does not think.
    let mut body = good();
    body["thinking"] = json!({ "type": "disabled" });
    assert_eq!(faults(&body, VendorQuirks::DeepSeek), [""; 0]);
}

#[test]
fn deepseek_sees_no_images() {
    let image = json!([{ "type": "image_url", "image_url": { "url": "https://a.example/b.png" } }]);
    breaks(
        VendorQuirks::DeepSeek,
        &[("/messages/1/content", image, "Supported values are: 'text'")],
    );
}

#[test]
fn mistral_wants_its_ids_and_its_order() {
    let answer = json!({ "role": "assistant", "content": "2" });
    breaks(
        VendorQuirks::Mistral,
        &[
            (
                "/messages/2/tool_calls/0/id",
                json!("call_1"),
                "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.",
            ),
            (
                "/messages/4",
                json!({ "role": "user", "content": "thanks" }),
                "Unexpected role 'user' after role 'tool'",
            ),
            (
                "/messages/4",
                json!({ "role": "system", "content": "hush" }),
                "Unexpected role 'system' after role 'tool'",
            ),
            (
                "/messages/4",
                answer,
                "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant",
            ),
            (
                "/messages/3",
                json!({ "role": "user", "content": "well?" }),
                "Not the same number of function calls and responses",
            ),
            (
                "/stream_options",
                json!({ "include_usage": true }),
                "stream_options: Extra inputs",
            ),
            (
                "/max_completion_tokens",
                json!(64),
                "max_completion_tokens: Extra inputs",
            ),
            ("/seed", json!(64), "seed: Extra inputs"),
            (
                "/messages/2/reasoning_content",
                json!(""),
                "Unknown parameter: 'messages[2].reasoning_content'",
            ),
        ],
    );
}

#[test]
fn ollama_reads_arguments_and_inline_images() {
    let image = json!([{ "type": "image_url", "image_url": { "url": "https://a.example/b.png" } }]);
    breaks(
        VendorQuirks::Ollama,
        &[
            (
                "/messages/2/tool_calls/0/function/arguments",
                json!("{"),
                "invalid tool call arguments",
            ),
            ("/messages/1/content", image, "no image that can be read"),
        ],
    );
    let mut body = good();
    body["max_completion_tokens"] = body["max_tokens"].take();
    let found = faults(&body, VendorQuirks::Ollama);
    assert_eq!(
        found,
        ["max_tokens: Missing required parameter: 'max_tokens'."]
    );
}
