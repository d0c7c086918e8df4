//! Every one of Claude's rules, each with a body that breaks it and nothing else.

mod messages;

use jackfield_dialect_claude::options::Profile;
use jackfield_dialect_rules::claude::{self, Rule};
use serde_json::{Value, json};

/// A sound body with a bit of everything.
fn sound() -> Value {
    json!({
        "model": "claude-opus-5-5",
        "max_tokens": 2048,
        "stream": true,
        "system": [{ "type": "text", "text": "Be brief.", "cache_control": { "type": "ephemeral", "ttl": "1h" } }],
        "tools": [
            { "name": "clock", "description": "Tells the time.", "input_schema": { "type": "object", "properties": { "tz": { "type": "string" } } } },
            { "type": "web_search_20260318", "name": "web_search" },
        ],
        "tool_choice": { "type": "auto", "disable_parallel_tool_use": true },
        "thinking": { "type": "adaptive", "display": "omitted" },
        "output_config": { "effort": "low", "format": { "type": "json_schema", "schema": { "type": "object", "properties": {}, "additionalProperties": false } } },
        "metadata": { "user_id": "u1" },
        "stop_sequences": ["END"],
        "messages": [
            { "role": "user", "content": [
                { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "AAAA" } },
                { "type": "document", "source": { "type": "text", "media_type": "text/plain", "data": "Notes." }, "citations": { "enabled": true } },
                { "type": "text", "text": "What time is it?" },
            ] },
            { "role": "assistant", "content": [
                { "type": "thinking", "thinking": "", "signature": "sig" },
                { "type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": { "query": "time" } },
                { "type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [] },
                { "type": "text", "text": "One moment.", "citations": [{ "type": "char_location" }] },
                { "type": "tool_use", "id": "toolu_1", "name": "clock", "input": {} },
            ] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "toolu_1", "content": [{ "type": "text", "text": "12:00" }] },
                { "type": "text", "text": "In words." },
            ] },
            { "role": "system", "content": "Speak softly." },
            { "role": "user", "content": "Please." },
        ],
    })
}

#[derive(Clone, Copy)]
enum Edit {
    Remove,
    Set(fn() -> Value),
}

use Edit::{Remove, Set};

fn edited(pointer: &str, edit: Edit) -> Value {
    let mut body = sound();
    let (above, key) = pointer.rsplit_once('/').expect("a pointer");
    let place = body.pointer_mut(above).expect("a place of the sound body");
    match (place, edit) {
        (Value::Object(fields), Remove) => drop(fields.remove(key).expect("a field")),
        (Value::Object(fields), Set(value)) => drop(fields.insert(key.to_owned(), value())),
        (Value::Array(items), Remove) => drop(items.remove(key.parse().expect("a number"))),
        (Value::Array(items), Set(value)) => {
            let place: usize = key.parse().expect("a number");
            items.splice(place..(place + 1).min(items.len()), [value()]);
        }
        (other, _) => panic!("nothing below {other}"),
    }
    body
}

#[track_caller]
fn check(pointer: &str, edit: Edit, path: &str, rule: Rule) {
    let body = edited(pointer, edit);
    let found = claude::check(&body, &Profile::NEWEST);
    let told: Vec<(&str, Rule)> = found
        .iter()
        .map(|broken| (&*broken.path, broken.rule))
        .collect();
    assert_eq!(told, [(path, rule)], "{pointer}");
}

#[test]
fn the_sound_body_is_sound() {
    assert_eq!(claude::check(&sound(), &Profile::NEWEST), []);
}

#[test]
fn fields_are_known_and_there() {
    check(
        "/temprature",
        Set(|| json!(1)),
        "temprature",
        Rule::UnknownField,
    );
    check(
        "/messages/0/name",
        Set(|| json!("Ada")),
        "messages.0.name",
        Rule::UnknownField,
    );
    check(
        "/messages/1/content/3/annotations",
        Set(|| json!([])),
        "messages.1.content.3.annotations",
        Rule::UnknownField,
    );
    check(
        "/tools/0/parameters",
        Set(|| json!({})),
        "tools.0.parameters",
        Rule::UnknownField,
    );
    check(
        "/tool_choice/name",
        Set(|| json!("clock")),
        "tool_choice.name",
        Rule::UnknownField,
    );
    check(
        "/metadata/team",
        Set(|| json!("a")),
        "metadata.team",
        Rule::UnknownField,
    );
    check("/model", Remove, "model", Rule::Missing);
    check("/max_tokens", Remove, "max_tokens", Rule::Missing);
    check("/messages", Remove, "messages", Rule::Missing);
    check(
        "/messages/0/content/2/text",
        Remove,
        "messages.0.content.2.text",
        Rule::Missing,
    );
    check(
        "/tools/0/input_schema",
        Remove,
        "tools.0.input_schema",
        Rule::Missing,
    );
    check(
        "/messages/1/content/0/signature",
        Remove,
        "messages.1.content.0.signature",
        Rule::Missing,
    );
}

#[test]
fn values_have_their_type_and_range() {
    check("/model", Set(|| json!(" ")), "model", Rule::Empty);
    check(
        "/max_tokens",
        Set(|| json!("10")),
        "max_tokens",
        Rule::OutOfRange,
    );
    check(
        "/max_tokens",
        Set(|| json!(-1)),
        "max_tokens",
        Rule::OutOfRange,
    );
    check("/stream", Set(|| json!("yes")), "stream", Rule::WrongType);
    check(
        "/service_tier",
        Set(|| json!("flex")),
        "service_tier",
        Rule::WrongValue,
    );
    check(
        "/stop_sequences/0",
        Set(|| json!(" ")),
        "stop_sequences.0",
        Rule::Empty,
    );
    check(
        "/output_config/effort",
        Set(|| json!("minimal")),
        "output_config.effort",
        Rule::WrongValue,
    );
    check(
        "/thinking/display",
        Set(|| json!("full")),
        "thinking.display",
        Rule::WrongValue,
    );
    check(
        "/tool_choice",
        Set(|| json!("auto")),
        "tool_choice",
        Rule::WrongType,
    );
}

#[test]
fn sampling_is_gone_and_was_never_without_bounds() {
    for key in ["temperature", "top_p", "top_k"] {
        check(&format!("/{key}"), Set(|| json!(1)), key, Rule::Sampling);
    }
    let older = |model: &str, key: &str, value: f64| {
        let mut body = json!({ "model": model, "max_tokens": 10, "messages": [{ "role": "user", "content": "hi" }] });
        body[key] = json!(value);
        let found = claude::check(&body, &Profile::of(model));
        found.first().map(|broken| broken.rule)
    };
    assert_eq!(older("claude-opus-4-6", "temperature", 0.3), None);
    assert_eq!(
        older("claude-opus-4-6", "temperature", 1.5),
        Some(Rule::OutOfRange)
    );
    let under_the_old_version = Profile {
        api_version: "2023-06-01",
        ..Profile::of("claude-opus-5")
    };
    for (key, value, broken) in [
        ("temperature", 1.0, false),
        ("temperature", 0.9, true),
        ("top_p", 0.99, false),
        ("top_k", 1.0, true),
    ] {
        let mut body = json!({ "model": "m", "max_tokens": 10, "messages": [{ "role": "user", "content": "hi" }] });
        body[key] = json!(value);
        assert_eq!(
            claude::check(&body, &under_the_old_version).is_empty(),
            !broken,
            "{key} {value}"
        );
    }
}

#[test]
fn thinking_is_asked_for_as_the_model_offers_it() {
    check(
        "/thinking",
        Set(|| json!({ "type": "disabled" })),
        "thinking",
        Rule::ThinkingMode,
    );
    check(
        "/thinking",
        Set(|| json!({ "type": "enabled", "budget_tokens": 1024 })),
        "thinking",
        Rule::ThinkingMode,
    );
    check(
        "/thinking",
        Set(|| json!({ "type": "always" })),
        "thinking.type",
        Rule::WrongValue,
    );
    let older = Profile::of("claude-haiku-4-5");
    let budget = |tokens: u64| {
        let body = json!({ "model": "m", "max_tokens": 2000, "thinking": { "type": "enabled", "budget_tokens": tokens }, "messages": [{ "role": "user", "content": "hi" }] });
        claude::check(&body, &older)
            .iter()
            .map(|broken| broken.rule)
            .collect::<Vec<_>>()
    };
    assert_eq!(budget(1024), []);
    assert_eq!(budget(1000), [Rule::OutOfRange]);
    assert_eq!(budget(2000), [Rule::OutOfRange]);
}

#[test]
fn schemas_that_are_enforced_stay_within_the_subset() {
    let format = "/output_config/format/schema";
    let place = "output_config.format.schema";
    check(
        &format!("{format}/additionalProperties"),
        Remove,
        &format!("{place}.additionalProperties"),
        Rule::SchemaSubset,
    );
    check(
        &format!("{format}/minProperties"),
        Set(|| json!(1)),
        &format!("{place}.minProperties"),
        Rule::SchemaSubset,
    );
    check(
        &format!("{format}/properties/a"),
        Set(|| json!({ "type": "string", "pattern": "a" })),
        &format!("{place}.properties.a.pattern"),
        Rule::SchemaSubset,
    );
    check(
        &format!("{format}/properties/a"),
        Set(|| json!({})),
        &format!("{place}.properties.a"),
        Rule::SchemaSubset,
    );
    check(
        &format!("{format}/properties/a"),
        Set(|| json!({ "type": "array", "minItems": 2 })),
        &format!("{place}.properties.a.minItems"),
        Rule::SchemaSubset,
    );
    check(
        "/tools/0/strict",
        Set(|| json!(true)),
        "tools.0.input_schema.additionalProperties",
        Rule::SchemaSubset,
    );
    check(
        "/tools/0/input_schema/type",
        Set(|| json!("array")),
        "tools.0.input_schema.type",
        Rule::WrongValue,
    );
}

#[test]
fn tools_have_names_and_a_choice_among_them() {
    check(
        "/tools/0/name",
        Set(|| json!("files.read")),
        "tools.0.name",
        Rule::Name,
    );
    check(
        "/tools/1",
        Set(|| json!({ "name": "clock", "input_schema": { "type": "object" } })),
        "tools.1.name",
        Rule::Repeated,
    );
    check(
        "/tools/1/type",
        Set(|| json!("time_machine_1")),
        "tools.1.type",
        Rule::WrongValue,
    );
    check(
        "/tools",
        Set(
            || json!([{ "name": "clock", "input_schema": { "type": "object" }, "defer_loading": true }]),
        ),
        "tools",
        Rule::OnlyDeferred,
    );
    check(
        "/tool_choice",
        Set(|| json!({ "type": "none", "disable_parallel_tool_use": true })),
        "tool_choice.disable_parallel_tool_use",
        Rule::UnknownField,
    );
    check(
        "/tool_choice",
        Set(|| json!({ "type": "required" })),
        "tool_choice.type",
        Rule::WrongValue,
    );
    check(
        "/tool_choice",
        Set(|| json!({ "type": "any" })),
        "tool_choice",
        Rule::ForcedTools,
    );
    check(
        "/tool_choice",
        Set(|| json!({ "type": "tool", "name": "clock" })),
        "tool_choice",
        Rule::ForcedTools,
    );
    let forced = |thinking: Value| {
        let body = json!({
            "model": "m", "max_tokens": 2000, "thinking": thinking,
            "tools": [{ "name": "clock", "input_schema": { "type": "object" } }],
            "tool_choice": { "type": "tool", "name": "clock" },
            "messages": [{ "role": "user", "content": "hi" }],
        });
        claude::check(&body, &Profile::of("claude-opus-4-6"))
            .iter()
            .map(|broken| broken.rule)
            .collect::<Vec<_>>()
    };
    assert_eq!(forced(json!({ "type": "disabled" })), []);
    assert_eq!(forced(json!({ "type": "adaptive" })), [Rule::ForcedTools]);
}
