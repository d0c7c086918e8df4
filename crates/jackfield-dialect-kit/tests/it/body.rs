//! Bodies that are broken, and where they say that they are.

use jackfield_dialect_kit::body::{fields, parse};
use jackfield_dialect_kit::objects;
use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[derive(Debug, Deserialize)]
struct Body {
    #[serde(rename = "model")]
    _model: String,
    #[serde(rename = "messages")]
    _messages: Vec<Said>,
    #[serde(flatten)]
    _extra: Map<String, Value>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(remote = "Self")]
struct Said {
    role: Role,
}

objects!(Said);

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Role {
    User,
}

fn place(body: &str) -> (String, String) {
    let invalid = parse::<Body>(body.as_bytes()).expect_err("a broken body");
    (invalid.path, invalid.reason)
}

#[test]
fn the_field_is_named() {
    for (body, path, reason) in [
        ("{\"model\":\"m\"}", "messages", "missing field"),
        ("{\"messages\":[]}", "model", "missing field"),
        ("{\"model\":7,\"messages\":[]}", "model", "invalid type"),
        ("7", "body", "invalid type: integer `7`, expected an object"),
        (
            "{\"model\":\"m\",\"messages\":[\"hi\"]}",
            "messages.0",
            "invalid type: string \"hi\", expected an object",
        ),
        // Otherwise a list would be read as the fields in their order.
        (
            "{\"model\":\"m\",\"messages\":[[\"user\"]]}",
            "messages.0",
            "invalid type: sequence, expected an object",
        ),
        (
            "{\"model\":\"m\",\"messages\":null}",
            "messages",
            "invalid type: null",
        ),
        (
            "{\"model\":\"m\",\"messages\":[{\"role\":\"user\"},{\"role\":\"robot\"}]}",
            "messages.1.role",
            "unknown variant `robot`",
        ),
        (
            "{\"model\":\"m\",\"messages\":[{}]}",
            "messages.0.role",
            "missing field",
        ),
        (
            "{\"model\":\"m\",\"messages\":[{\"role\":\"user\"},[\"user\"]]}",
            "messages.1",
            "invalid type: sequence, expected an object",
        ),
        (
            "{\"model\":\"m\",\"messages\":[],\"model\":\"n\"}",
            "model",
            "duplicate field",
        ),
        ("", "body", "EOF"),
        ("[1]", "body", "invalid type"),
        ("{\"model\":\"m\",\"messages\":[", "messages", "EOF"),
    ] {
        let (told, why) = place(body);
        assert_eq!(told, path, "{body}");
        assert!(why.contains(reason), "{body}: {why}");
    }
}

#[test]
fn a_field_that_is_said_twice_is_refused_whatever_it_says() {
    let invalid = fields(b"{\"input\":\"a\",\"other\":1,\"input\":\"a\"}").expect_err("twice");
    assert_eq!(invalid.path, "input");
    assert!(invalid.reason.starts_with("duplicate field `input`"));
    let invalid = fields(b"[1]").expect_err("no object");
    assert_eq!(invalid.path, "body");
    let read = fields(b" {\"b\":[1.50],\"a\":{\"b\":null}}").expect("an object");
    assert_eq!(
        Value::Object(read).to_string(),
        "{\"b\":[1.5],\"a\":{\"b\":null}}"
    );
}

#[test]
fn what_is_said_of_a_long_body_is_short() {
    let robot = "🤖".repeat(10_000);
    let body = format!("{{\"model\":\"m\",\"messages\":[{{\"role\":\"{robot}\"}}]}}");
    let (path, reason) = place(&body);
    assert!(path.chars().count() <= 201 && reason.chars().count() <= 301);
    let deep = "[".repeat(100_000);
    let (_, reason) = place(&deep);
    assert!(!reason.is_empty());
    let deep = format!("{{\"model\":\"m\",\"other\":{deep}");
    let (_, reason) = place(&deep);
    assert!(reason.contains("recursion"), "{reason}");
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let told = parse::<Body>(&bytes);
        prop_assert!(told.is_ok() || told.is_err_and(|invalid| !invalid.path.is_empty()));
    }
}
