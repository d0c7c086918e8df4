//! Claude: every rule is broken once, and found.

use jackfield_testservers::claude::rules;
use serde_json::{Value, json};

use crate::edit::set;

/// A long conversation that keeps every rule.
fn good() -> Value {
    json!({
        "model": "claude-opus-5-5",
        "max_tokens": 64,
        "system": [{ "type": "text", "text": "Be brief.", "cache_control": { "type": "ephemeral" } }],
        "tools": [{
            "name": "add",
            "description": "Adds.",
            "input_schema": { "type": "object", "properties": { "cache_control": {} } },
        }],
        "tool_choice": { "type": "auto" },
        "messages": [
            { "role": "user", "content": "1 + 1, and 2 + 2?" },
            { "role": "assistant", "content": [
                { "type": "text", "text": "Let me see." },
                { "type": "tool_use", "id": "a", "name": "add", "input": {} },
                { "type": "tool_use", "id": "b", "name": "add", "input": { "x": 2 } },
            ]},
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "b", "content": "4" },
                { "type": "tool_result", "tool_use_id": "a", "content": [{ "type": "text", "text": "2" }] },
                { "type": "text", "text": "In words, please." },
            ]},
        ],
    })
}

fn faults(body: &Value, version: &str) -> Vec<String> {
    let found = rules::check(body, version);
    found.iter().map(ToString::to_string).collect()
}

#[test]
fn older_models_continue_words_at_the_end() {
    for (model, is_refused) in [
        ("claude-3-5-haiku-20241022", false),
        ("claude-sonnet-4-20250514", false),
        ("claude-sonnet-4-5", false),
        ("claude-opus-4-6", true),
        ("claude-opus-5-5", true),
    ] {
        let mut body = good();
        body["model"] = json!(model);
        let messages = body["messages"].as_array_mut().unwrap();
        messages.push(json!({ "role": "assistant", "content": "So" }));
        let found = faults(&body, "2026-10-21");
        let is_told = found
            .iter()
            .any(|line| line.contains("must end with a user message"));
        assert_eq!(is_told, is_refused, "{model}: {found:?}");
    }
}

#[test]
fn a_good_request_has_no_faults() {
    assert_eq!(faults(&good(), "2026-10-21"), Vec::<String>::new());
}

#[test]
fn each_broken_rule_is_found() {
    let text = |text: &str| json!({ "type": "text", "text": text });
    let result = |id: &str| json!({ "type": "tool_result", "tool_use_id": id, "content": "1" });
    for (pointer, value, fault) in [
        ("/model", json!(null), "model: a text is needed"),
        (
            "/max_tokens",
            json!("64"),
            "max_tokens: a whole number is needed",
        ),
        (
            "/messages",
            json!([]),
            "messages: at least one message is needed",
        ),
        (
            "/logprobs",
            json!(true),
            "logprobs: extra inputs are not permitted",
        ),
        (
            "/temperature",
            json!(1),
            "temperature: sampling parameters are not taken",
        ),
        (
            "/stop_sequences",
            json!([" "]),
            "stop_sequences: each has to have a character",
        ),
        (
            "/system/0/text",
            json!(""),
            "system.0: text content blocks must contain non-whitespace",
        ),
        (
            "/tools",
            json!([]),
            "tools: the conversation has tool blocks",
        ),
        (
            "/tools/0/name",
            json!("a.b"),
            "tools.0.name: the name does not match",
        ),
        (
            "/tools/0/input_schema",
            json!({}),
            "tools.0.input_schema: the root has to be",
        ),
        (
            "/tools/1",
            good()["tools"][0].clone(),
            "tools.1: tool names must be unique",
        ),
        (
            "/messages/0/role",
            json!("tool"),
            "messages.0.role: has to be",
        ),
        (
            "/messages/0/role",
            json!("assistant"),
            "messages.0: the first message cannot be",
        ),
        (
            "/messages/0/content",
            json!([]),
            "messages.0.content: at least one block",
        ),
        (
            "/messages/0/content",
            json!(" "),
            "messages.0.content: at least one block",
        ),
        (
            "/messages/0/content",
            json!([result("a")]),
            "a has no `tool_use` in the message before",
        ),
        (
            "/messages/1/content/0",
            text(" "),
            "messages.1.content.0: text content blocks",
        ),
        (
            "/messages/1/content/0",
            json!({}),
            "messages.1.content.0: a block needs a type",
        ),
        (
            "/messages/1/content/0",
            result("z"),
            "messages.1.content.0: only the user",
        ),
        (
            "/messages/1/content/1/input",
            json!("{}"),
            "messages.1.content.1.input: has to be an object",
        ),
        (
            "/messages/1/content/2/id",
            json!("a"),
            "messages.1: `tool_use` ids must be unique",
        ),
        (
            "/messages/2/content/0",
            text("4"),
            "`tool_result` blocks immediately after: b",
        ),
        ("/messages/2/content/0", result("a"), "a is answered twice"),
        (
            "/messages/2/content/0",
            text("first"),
            "messages.2.content.1: `tool_result` blocks have to come first",
        ),
        (
            "/messages/2/content/1",
            json!({ "type": "tool_result", "tool_use_id": "a", "content": "", "is_error": true }),
            "messages.2.content.1.content: cannot be empty",
        ),
        (
            "/messages/2",
            json!({ "role": "user", "content": "well?" }),
            "immediately after: a, b",
        ),
        (
            "/messages/2",
            json!({ "role": "assistant", "content": "so" }),
            "must end with a user message",
        ),
    ] {
        let mut body = good();
        set(&mut body, pointer, value.clone());
        let found = faults(&body, "2026-10-21");
        assert!(
            found.iter().any(|line| line.contains(fault)),
            "{pointer} {value}: {found:?}"
        );
    }
}

#[test]
fn the_older_version_takes_sampling() {
    let mut body = good();
    body["temperature"] = json!(0.5);
    assert_eq!(faults(&body, "2023-06-01"), Vec::<String>::new());
}

#[test]
fn more_than_four_cache_points_are_found() {
    let mut body = good();
    let point = json!({ "type": "text", "text": "x", "cache_control": { "type": "ephemeral" } });
    body["messages"][0]["content"] = json!([point, point, point]);
    assert_eq!(faults(&body, "2026-10-21"), Vec::<String>::new());
    body["messages"][0]["content"] = json!([point, point, point, point]);
    assert_eq!(
        faults(&body, "2026-10-21"),
        ["cache_control: 5 cache points, at most 4 are allowed"]
    );
}
