//! What clients send.

use std::sync::Arc;

use jackfield_dialect_openai::chat::request;
use jackfield_domain::message::Message;
use jackfield_domain::tool::ToolChoice;
use jackfield_domain::tool_input::ToolInput;
use serde_json::{Value, json};

use super::examples::name;
use super::read::owner;

#[test]
fn numbers_and_data_urls_are_read_however_they_are_written() {
    let read = |most: &str, seed: &str, url: &str| {
        let part = json!({ "type": "image_url", "image_url": { "url": url } });
        let body = json!({ "model": "m", "messages": [{ "role": "user", "content": [part] }] });
        let body = body.to_string();
        let body = body.replacen('{', &format!("{{\"max_tokens\":{most},\"seed\":{seed},"), 1);
        let body = request::parse(body.as_bytes()).expect("a body");
        request::from_wire(body, &owner()).expect("it can be read")
    };
    let plain = read("1000", "-7", "data:image/jpeg;base64,AAAA");
    assert_eq!(plain.settings.max_output_tokens, Some(1000));
    for (most, seed, url) in [
        ("1e3", "-7.0", "data:image/jpg;base64,AAAA"),
        ("1000.0", "-7", "DATA:IMAGE/JPEG;BASE64,AAAA"),
        ("1000", "-7", "data:Image/JPG;base64,AAAA"),
    ] {
        let other = read(most, seed, url);
        assert_eq!(other, plain, "{most} {seed} {url}");
    }
    let refused = request::parse(br#"{"model":"m","messages":[],"max_tokens":1.5}"#);
    assert_eq!(refused.expect_err("not whole").path, "max_tokens");
}

#[test]
fn what_old_clients_send_is_read() {
    let body = json!({
        "model": "m",
        "max_tokens": 5,
        "stop": "END",
        "functions": [{ "name": "f", "parameters": { "type": "object", "properties": {} } }],
        "function_call": { "name": "f" },
        "messages": [
            { "role": "system", "content": "Be brief." },
            { "role": "developer", "content": [{ "type": "text", "text": "Be kind." }] },
            { "role": "user", "content": "go" },
            { "role": "assistant", "content": null, "function_call": { "name": "f", "arguments": "{\"a\":1}" } },
            { "role": "function", "name": "f", "content": "1" },
            { "role": "assistant", "content": "", "reasoning": "hm", "tool_calls": [
                { "id": "", "function": { "name": "f", "arguments": { "a": 2 } } },
                { "id": "", "function": { "name": "f", "arguments": null } },
            ] },
            { "role": "tool", "content": "2" },
            { "role": "tool", "tool_call_id": null, "content": null },
        ],
        "unheard_of": true,
        "store": true,
        "n": 1,
    });
    let body = request::parse(body.to_string().as_bytes()).expect("a body");
    let incoming = request::from_wire(body, &owner()).expect("it can be read");
    let system: Vec<&str> = incoming
        .system
        .parts
        .iter()
        .map(|part| &*part.text)
        .collect();
    assert_eq!(system, ["Be brief.", "Be kind."]);
    assert_eq!(incoming.choice, ToolChoice::Named(name("f")));
    assert_eq!(incoming.tools.len(), 1);
    assert_eq!(incoming.settings.max_output_tokens, Some(5));
    assert_eq!(incoming.settings.stop, ["END".into()]);
    assert_eq!(incoming.settings.extensions.len(), 1);
    let codes: Vec<&str> = incoming.notes.iter().map(|note| &*note.code).collect();
    assert_eq!(codes, ["provider_would_act"]);
    let messages: Vec<Arc<Message>> = incoming.messages.into_iter().map(Arc::new).collect();
    jackfield_domain::rules::check_request(messages.iter()).expect("calls and outcomes pair");
    let calls = messages.iter().flat_map(|message| message.calls());
    let inputs: Vec<String> = calls
        .map(|call| match &call.input {
            ToolInput::Json(input) => {
                Value::Object((**input.object().expect("JSON")).clone()).to_string()
            }
            ToolInput::Text(text) => text.to_string(),
        })
        .collect();
    assert_eq!(inputs, ["{\"a\":1}", "{\"a\":2}", "{}"]);
}

#[test]
fn what_cannot_be_carried_is_refused_by_its_place() {
    for (field, json, path) in [
        ("tool_choice", json!("sometimes"), "tool_choice"),
        ("reasoning_effort", json!("huge"), "reasoning_effort"),
        (
            "tools",
            json!([{ "type": "function", "name": "f" }]),
            "tools.0",
        ),
        (
            "tools",
            json!([{ "type": "function", "function": { "name": "a b" } }]),
            "tools.0.function.name",
        ),
        (
            "messages",
            json!([{ "role": "user", "content": [{ "type": "image_url" }] }]),
            "messages.0.content.0",
        ),
        (
            "messages",
            json!([{ "role": "assistant", "tool_calls": [{ "id": "a" }] }]),
            "messages.0.tool_calls.0",
        ),
        (
            "messages",
            json!([{ "role": "stranger", "content": "a" }]),
            "messages.0.role",
        ),
        (
            "messages",
            json!([
                { "role": "assistant", "tool_calls": [
                    { "id": "a", "type": "function", "function": { "name": "f", "arguments": "{}" } },
                ] },
                { "role": "tool", "tool_call_id": "a", "content": "1" },
                { "role": "tool", "tool_call_id": "a", "content": "2" },
            ]),
            "messages.2.tool_call_id",
        ),
    ] {
        let mut body = json!({ "model": "m", "messages": [] });
        body[field] = json;
        let read = request::parse(body.to_string().as_bytes())
            .and_then(|body| request::from_wire(body, &owner()));
        assert_eq!(read.expect_err("it is refused").path, path);
    }
}
