//! Chat Completions: every rule is broken once, and found.

use jackfield_testservers::openai::{VendorQuirks, chat};
use serde_json::{Value, json};

use crate::edit::set;

/// A long conversation that keeps every rule.
pub(crate) fn good() -> Value {
    json!({
        "model": "gpt-6-sol",
        "reasoning_effort": "none",
        "max_completion_tokens": 64,
        "stream": true,
        "stream_options": { "include_usage": true },
        "response_format": {
            "type": "json_schema",
            "json_schema": { "name": "sum", "strict": true, "schema": strict() },
        },
        "tools": [
            { "type": "function", "function": {
                "name": "add",
                "description": "Adds.",
                "parameters": { "type": "object", "properties": { "list": { "type": "array", "items": {} } } },
            }},
            { "type": "custom", "custom": { "name": "run", "format": {
                "type": "grammar",
                "grammar": { "syntax": "regex", "definition": "a+" },
            }}},
            { "type": "function", "function": { "name": "strict", "strict": true, "parameters": strict() } },
        ],
        "tool_choice": "auto",
        "messages": [
            { "role": "developer", "content": "Be brief." },
            { "role": "user", "content": [
                { "type": "text", "text": "1 + 1, and run this?" },
                { "type": "image_url", "image_url": { "url": "data:image/png;base64,AA==" } },
                { "type": "file", "file": { "filename": "a.pdf", "file_data": "data:application/pdf;base64,AA==" } },
            ]},
            { "role": "assistant", "content": null, "tool_calls": [
                { "id": "a", "type": "function", "function": { "name": "add", "arguments": "{}" } },
                { "id": "b", "type": "custom", "custom": { "name": "run", "input": "aa" } },
            ]},
            { "role": "tool", "tool_call_id": "b", "content": "ran" },
            { "role": "tool", "tool_call_id": "a", "content": [{ "type": "text", "text": "2" }] },
        ],
    })
}

/// A schema that can be enforced.
fn strict() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["sum"],
        "properties": { "sum": { "type": ["number", "null"] } },
    })
}

pub(crate) fn faults(body: &Value) -> Vec<String> {
    let found = chat::check(body, VendorQuirks::OpenAi);
    found.iter().map(ToString::to_string).collect()
}

#[track_caller]
pub(crate) fn breaks(changes: &[(&str, Value, &str)]) {
    for (pointer, value, fault) in changes {
        let mut body = good();
        set(&mut body, pointer, value.clone());
        let found = faults(&body);
        assert!(
            found.iter().any(|line| line.contains(fault)),
            "{pointer} {value}: {found:#?}"
        );
    }
}

#[test]
fn a_good_request_has_no_faults() {
    assert_eq!(faults(&good()), Vec::<String>::new());
}

#[test]
fn each_broken_rule_of_the_settings_is_found() {
    breaks(&[
        ("/model", json!(7), "Invalid type for 'model'"),
        (
            "/top_k",
            json!(7),
            "Unrecognized request argument supplied: top_k",
        ),
        (
            "/max_tokens",
            json!(64),
            "'max_tokens' is not supported with this model. Use 'max_completion_tokens'",
        ),
        (
            "/max_tokens",
            json!(64),
            "at the same time is not supported",
        ),
        (
            "/max_completion_tokens",
            json!(0),
            "integer below minimum value",
        ),
        (
            "/max_completion_tokens",
            json!("64"),
            "expected an integer, but got a string",
        ),
        (
            "/temperature",
            json!(0.5),
            "Unsupported parameter: 'temperature'",
        ),
        (
            "/temperature",
            json!(3),
            "decimal above maximum value. Expected a value <= 2",
        ),
        (
            "/presence_penalty",
            json!(-3),
            "decimal below minimum value. Expected a value >= -2",
        ),
        ("/stop", json!(["a"]), "Unsupported parameter: 'stop'"),
        (
            "/stop",
            json!(["a", "b", "c", "d", "e"]),
            "maximum length 4",
        ),
        ("/top_logprobs", json!(2), "'logprobs' must be set to true"),
        ("/reasoning_effort", json!("hard"), "Invalid value: 'hard'"),
        ("/verbosity", json!("chatty"), "Invalid value: 'chatty'"),
        (
            "/service_tier",
            json!("standard_only"),
            "Invalid value: 'standard_only'",
        ),
        (
            "/stream",
            json!(false),
            "only allowed when 'stream' is enabled",
        ),
        (
            "/stream_options/x",
            json!(1),
            "Unknown parameter: 'stream_options.x'.",
        ),
        ("/parallel_tool_calls", json!("yes"), "expected a boolean"),
        ("/metadata", json!({ "a": 1 }), "metadata: at most 16 pairs"),
        (
            "/response_format",
            json!({ "type": "json_object" }),
            "must contain the word 'json'",
        ),
        (
            "/response_format",
            json!({ "type": "xml" }),
            "Invalid value: 'xml'",
        ),
        (
            "/response_format/json_schema/name",
            json!("a b"),
            "does not match pattern",
        ),
        (
            "/response_format/json_schema/schema/required",
            json!([]),
            "Invalid schema for response_format 'sum': In context=(), 'required' is required",
        ),
    ]);
}

#[test]
fn each_broken_rule_of_the_tools_is_found() {
    let tool = |schema: Value| json!({ "type": "function", "function": { "name": "x", "parameters": schema } });
    let nested = json!({ "type": "object", "properties": { "a": { "type": "array" } } });
    breaks(&[
        ("/tools", json!([]), "Invalid 'tools': empty array"),
        (
            "/tools",
            json!(null),
            "'tool_choice' is only allowed when 'tools' are specified",
        ),
        (
            "/tools/0/type",
            json!("web_search"),
            "Invalid value: 'web_search'",
        ),
        (
            "/tools/0",
            json!({ "type": "function", "name": "add" }),
            "Missing required parameter: 'tools[0].function'",
        ),
        ("/tools/0/x", json!(1), "Unknown parameter: 'tools[0].x'"),
        (
            "/tools/0/function/x",
            json!(1),
            "Unknown parameter: 'tools[0].function.x'",
        ),
        (
            "/tools/0/function/name",
            json!("a.b"),
            "matches the pattern '^[a-zA-Z0-9_-]+$'",
        ),
        (
            "/tools/0/function/name",
            json!("a".repeat(65)),
            "maximum length 64, but got a string with length 65",
        ),
        (
            "/tools/0/function/name",
            json!("run"),
            "tool names must be unique: 'run'",
        ),
        ("/tools/0", tool(json!({})), "got 'type: \"None\"'"),
        (
            "/tools/0",
            tool(json!({ "type": "object" })),
            "object schema missing properties",
        ),
        (
            "/tools/0",
            tool(nested),
            "In context=('properties', 'a'), array schema missing items.",
        ),
        (
            "/tools/0",
            tool(json!({ "type": "object", "properties": {}, "anyOf": [] })),
            "at the top level; it has 'anyOf'",
        ),
        (
            "/tools/1/custom/format/grammar/syntax",
            json!("ebnf"),
            "Invalid value: 'ebnf'",
        ),
        (
            "/tools/2/function/parameters/additionalProperties",
            json!(true),
            "'additionalProperties' is required to be supplied and to be false",
        ),
        (
            "/tools/2/function/parameters/required",
            json!([]),
            "Missing 'sum'.",
        ),
        (
            "/tools/2/function/parameters/properties/sum",
            json!({}),
            "schema must have a 'type' key",
        ),
        (
            "/tools/2/function/parameters/properties/sum/oneOf",
            json!([]),
            "In context=('properties', 'sum'), 'oneOf' is not permitted.",
        ),
        (
            "/tools/2/function/parameters/properties/sum/format",
            json!("uri"),
            "'uri' is not a valid format",
        ),
        ("/tool_choice", json!("any"), "Invalid value: 'any'"),
        (
            "/tool_choice",
            json!({ "type": "function", "name": "add" }),
            "Unknown parameter: 'tool_choice.name'",
        ),
        (
            "/tool_choice",
            json!({ "type": "function", "function": { "name": "nope" } }),
            "Tool choice 'nope' not found in 'tools' parameter.",
        ),
        (
            "/tool_choice",
            json!({ "type": "allowed_tools", "allowed_tools": { "mode": "any", "tools": [] } }),
            "Invalid value: 'any'",
        ),
    ]);
    let mut body = good();
    body["tools"] = json!(vec![body["tools"][0].clone(); 129]);
    assert!(
        faults(&body)
            .iter()
            .any(|line| line.contains("maximum length 128"))
    );
}

#[test]
fn function_tools_with_effort_are_refused_by_the_name_of_the_model() {
    let refused = |model: &str, effort: Value| {
        let mut body = good();
        body["model"] = json!(model);
        body["reasoning_effort"] = effort;
        let fault = format!(
            "Function tools with reasoning_effort are not supported for {model} in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'."
        );
        faults(&body).iter().any(|line| line.contains(&fault))
    };
    for model in ["gpt-6.2-sol", "gpt-6-astra", "gpt-5.6-luna"] {
        assert!(refused(model, json!(null)), "{model}");
        assert!(refused(model, json!("low")), "{model}");
        assert!(!refused(model, json!("none")), "{model}");
    }
    assert!(refused("gpt-5.4-mini", json!("low")));
    assert!(!refused("gpt-5.4-mini", json!(null)));
    assert!(!refused("gpt-5", json!("low")));
    assert!(!refused("gpt-4.1", json!(null)));
}

#[test]
fn an_effort_is_refused_by_the_models_that_lack_it() {
    for (model, effort, is_refused) in [
        ("gpt-6.2-sol", "none", true),
        ("gpt-6.1-sol", "none", true),
        ("gpt-6-astra", "none", true),
        ("gpt-6-astra", "max", true),
        ("gpt-6-sol", "none", false),
        ("gpt-6-sol", "minimal", true),
        ("gpt-5.1", "minimal", true),
        ("gpt-5", "minimal", false),
        ("gpt-5", "none", true),
        ("o3", "none", true),
    ] {
        let mut body = good();
        body["model"] = json!(model);
        body["reasoning_effort"] = json!(effort);
        let fault =
            format!("Unsupported value: '{effort}' is not supported with the '{model}' model.");
        let found = faults(&body);
        let has_it = found.iter().any(|line| line.contains(&fault));
        assert_eq!(has_it, is_refused, "{model}, {effort}: {found:?}");
    }
}

#[test]
fn a_model_that_does_not_reason_takes_sampling_and_no_effort() {
    let mut body = good();
    body["model"] = json!("gpt-4.1-mini");
    body["temperature"] = json!(0.5);
    let found = faults(&body);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("supplied: reasoning_effort"), "{found:?}");
    body["reasoning_effort"] = json!(null);
    assert_eq!(faults(&body), Vec::<String>::new());
}
