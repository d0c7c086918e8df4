//! Every one of Ollama's rules, each with a body that breaks it and nothing else.

use jackfield_dialect_rules::ollama::{self, Rule};
use serde_json::{Value, json};

/// A sound body with a bit of everything.
fn sound() -> Value {
    json!({
        "model": "qwen3:8b",
        "messages": [
            { "role": "system", "content": "Be brief." },
            { "role": "user", "content": "What time is it?", "images": ["AAAA"] },
            { "role": "assistant", "content": "", "thinking": "Hm.", "tool_calls": [
                { "id": "a", "function": { "name": "clock", "arguments": {} } },
                { "id": "b", "function": { "index": 1, "name": "clock", "arguments": { "tz": "CET" } } },
            ] },
            { "role": "tool", "content": "12:00", "tool_name": "clock", "tool_call_id": "b" },
            { "role": "tool", "content": "", "tool_name": "clock", "tool_call_id": "a" },
        ],
        "tools": [{ "type": "function", "function": {
            "name": "clock",
            "description": "Tells the time.",
            "parameters": {
                "type": "object",
                "properties": { "tz": { "anyOf": [{ "type": ["string", "null"], "description": "a zone" }] } },
                "required": ["tz"],
            },
        } }],
        "format": { "type": "object" },
        "think": "low",
        "keep_alive": "5m",
        "options": { "num_ctx": 8192, "temperature": 0.5, "stop": ["END"], "use_mmap": true },
        "stream": true,
        "truncate": false,
    })
}

fn faults(body: &Value) -> Vec<(String, Rule)> {
    let found = ollama::check(body).into_iter();
    found.map(|broken| (broken.path, broken.rule)).collect()
}

#[test]
fn a_sound_body_breaks_no_rule() {
    assert_eq!(faults(&sound()), []);
}

#[test]
fn each_rule_is_broken_by_one_change() {
    for (pointer, value, path, rule) in [
        ("/mood", json!("fine"), "mood", Rule::UnknownField),
        ("/model", json!(" "), "model", Rule::Empty),
        ("/messages", json!([]), "messages", Rule::Empty),
        (
            "/messages/0/role",
            json!("developer"),
            "messages.0.role",
            Rule::WrongValue,
        ),
        (
            "/messages/0/content",
            json!([]),
            "messages.0.content",
            Rule::WrongType,
        ),
        (
            "/messages/1/thinking",
            json!("hm"),
            "messages.1.thinking",
            Rule::UnknownField,
        ),
        (
            "/messages/1/images/0",
            json!("data:,"),
            "messages.1.images.0",
            Rule::Image,
        ),
        (
            "/messages/2/tool_calls/0/function/arguments",
            json!("{}"),
            "messages.2.tool_calls.0.function.arguments",
            Rule::WrongType,
        ),
        (
            "/messages/3/tool_name",
            json!("sun"),
            "messages.3",
            Rule::Results,
        ),
        (
            "/tools/0/type",
            json!("custom"),
            "tools.0.type",
            Rule::WrongValue,
        ),
        (
            "/tools/0/function/parameters/type",
            json!("array"),
            "tools.0.function.parameters.type",
            Rule::WrongValue,
        ),
        (
            "/tools/0/function/parameters/oneOf",
            json!([]),
            "tools.0.function.parameters.oneOf",
            Rule::SchemaSubset,
        ),
        (
            "/tools/0/function/parameters/properties/tz",
            json!(true),
            "tools.0.function.parameters.properties.tz",
            Rule::WrongType,
        ),
        (
            "/tools/0/function/parameters/properties/tz/format",
            json!("x"),
            "tools.0.function.parameters.properties.tz.format",
            Rule::SchemaSubset,
        ),
        ("/format", json!("xml"), "format", Rule::WrongValue),
        ("/think", json!("minimal"), "think", Rule::WrongValue),
        ("/keep_alive", json!([]), "keep_alive", Rule::WrongType),
        (
            "/options/num_ctx",
            json!(0.5),
            "options.num_ctx",
            Rule::WrongType,
        ),
        (
            "/options/seed",
            json!(5_000_000_000_u64),
            "options.seed",
            Rule::OutOfRange,
        ),
        ("/options/stop/0", json!(""), "options.stop.0", Rule::Empty),
        (
            "/options/mood",
            json!(1),
            "options.mood",
            Rule::UnknownField,
        ),
        ("/stream", json!("yes"), "stream", Rule::WrongType),
    ] {
        let mut body = sound();
        let (parent, name) = pointer.rsplit_once('/').expect("a pointer");
        match body.pointer_mut(parent).expect("a place") {
            Value::Array(items) => items[name.parse::<usize>().expect("an index")] = value,
            place => place[name] = value,
        }
        assert_eq!(faults(&body), [(path.to_owned(), rule)], "{pointer}");
    }
}

#[test]
fn what_is_missing_or_twice_is_found() {
    let mut body = sound();
    body["messages"].as_array_mut().expect("a list").truncate(4);
    assert_eq!(faults(&body), [("messages".to_owned(), Rule::Results)]);
    let mut body = sound();
    body["messages"][2]["tool_calls"][1]["id"] = json!("a");
    body["messages"].as_array_mut().expect("a list").remove(3);
    assert_eq!(
        faults(&body),
        [("messages.2.tool_calls.1.id".to_owned(), Rule::Repeated)]
    );
    let mut body = sound();
    let tool = body["tools"][0].clone();
    body["tools"].as_array_mut().expect("a list").push(tool);
    assert_eq!(
        faults(&body),
        [("tools.1.function.name".to_owned(), Rule::Repeated)]
    );
    assert_eq!(
        faults(&json!({ "messages": [{ "role": "user", "content": "hi" }] })),
        [("model".to_owned(), Rule::Missing)]
    );
    assert_eq!(faults(&json!([])), [(String::new(), Rule::WrongType)]);
}
