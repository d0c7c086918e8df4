//! Structured outcomes beside their text.

use std::sync::Arc;

use jackfield_dialect_claude::options::Profile;
use jackfield_dialect_claude::request;
use jackfield_domain::block::Content;
use jackfield_domain::ids::ToolCallId;
use jackfield_domain::message::{Message, Role};
use jackfield_domain::note::NoteEffect;
use jackfield_domain::outcome::{OutcomePart, ToolOutcome, ToolResult};
use serde_json::{Value, json};

use crate::arb::owner;
use crate::examples::{call, of};

#[test]
fn a_text_that_says_the_same_in_whatever_spelling_makes_the_loss_cosmetic() {
    let json = json!({ "a": "x \"y\\ \u{e9}", "n": [1, 2.5, null], "o": {} });
    let pretty = serde_json::to_string_pretty(&json).expect("JSON");
    for text in [
        json.to_string(),
        format!("\n {pretty} \n"),
        r#"{"n":[1,2.5,null],"o":{},"a":"x \"y\\ \u00e9"}"#.to_owned(),
    ] {
        assert_eq!(effect(&text, &json), NoteEffect::Cosmetic, "{text}");
    }
}

#[test]
fn a_text_that_says_something_else_loses_something() {
    let json = json!({ "a": "x y", "n": 12 });
    for text in [
        "a is x y",
        r#"{"a":"xy","n":12}"#,
        r#"{"a":"x  y","n":12}"#,
        r#"{"a":"x y","n":1 2}"#,
        r#"{"a":"x y","n":12"#,
        r#"{"a":"x y","n":12} and more"#,
        r#"{"a":"x y","n":12,"b":1}"#,
    ] {
        assert_eq!(effect(text, &json), NoteEffect::Quality, "{text}");
    }
}

/// What the note says that the structured form is not sent.
fn effect(text: &str, json: &Value) -> NoteEffect {
    let outcome = Content::ToolOutcome(Arc::new(ToolOutcome {
        call: ToolCallId::parse("call_a").expect("an id"),
        result: ToolResult {
            content: vec![OutcomePart::Text(text.into())],
            is_error: false,
            structured: Some(Arc::new(json.clone())),
        },
        opaque: Vec::new(),
    }));
    let request = of(vec![
        Message::user("go"),
        Message::new(Role::Assistant, vec![call("call_a", None, "{}")]),
        Message::new(Role::Tool, vec![outcome.into()]),
    ]);
    let (_, notes) =
        request::to_wire(&request, &owner(), &Profile::NEWEST, true).expect("it can be said");
    let mut notes = notes.iter();
    let note = notes.find(|note| *note.code == *"structured_not_sent");
    note.expect("a note").effect
}

#[test]
fn a_client_is_told_what_its_parts_of_results_lose() {
    let body = json!({ "model": "m", "max_tokens": 10, "messages": [
        { "role": "assistant", "content": [{ "type": "tool_use", "id": "toolu_1", "name": "clock", "input": {} }] },
        { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "toolu_1", "content": [
            { "type": "text", "text": "12:01", "cache_control": { "type": "ephemeral" }, "citations": [{}] },
            { "type": "text", "text": " " },
            { "type": "text", "text": "UTC", "cache_control": { "type": "ephemeral" } },
        ] }] },
    ] });
    let body = serde_json::from_value(body).expect("a body");
    let notes = request::from_wire(body, &owner())
        .expect("it can be carried")
        .notes;
    let told: Vec<(&str, &str)> = notes
        .iter()
        .map(|note| (&*note.code, &*note.path))
        .collect();
    let part = "messages.1.content.0.content";
    let expected = [
        ("annotation_not_sent", format!("{part}.0.citations")),
        ("blank_text", format!("{part}.1")),
        // The first one is kept behind the result.
        (
            "cache_point_not_possible",
            format!("{part}.2.cache_control"),
        ),
    ];
    let expected: Vec<(&str, &str)> = expected
        .iter()
        .map(|(code, path)| (*code, &**path))
        .collect();
    assert_eq!(told, expected);
}
