//! The record of what a schema lost.

use jackfield_dialect_kit::schema::{Changes, member};
use jackfield_domain::note::NoteEffect;
use serde_json::{Map, Value, json};

fn described(rest: Value, before: Option<&str>) -> (Value, usize) {
    let mut changes = Changes::default();
    let mut out: Map<String, Value> = Map::new();
    if let Some(before) = before {
        out.insert("description".to_owned(), json!(before));
    }
    let rest = rest.as_object().cloned().unwrap_or_default();
    changes.describe(rest, &mut out, "/a");
    (Value::Object(out), changes.into_vec().len())
}

#[test]
fn what_cannot_be_sent_is_said_after_what_is_there() {
    let rest = || json!({ "minLength": 2, "examples": ["x"], "not": {} });
    let said = "{minLength: 2, not: {}}";
    assert_eq!(described(rest(), None), (json!({ "description": said }), 1));
    let both = format!("Who\n\n{said}");
    assert_eq!(
        described(rest(), Some("Who")),
        (json!({ "description": both }), 1)
    );
}

#[test]
fn what_says_nothing_is_left_out_and_still_a_change() {
    assert_eq!(described(json!({ "$schema": "x" }), None), (json!({}), 1));
    assert_eq!(described(json!({}), None), (json!({}), 0));
}

#[test]
fn a_change_is_told_once() {
    let mut changes = Changes::default();
    for code in ["a", "b", "a"] {
        changes.push(NoteEffect::Quality, code, "");
    }
    let codes = changes.into_vec().into_iter().map(|change| change.code);
    assert_eq!(codes.collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn a_pointer_escapes_what_it_has_to() {
    assert_eq!(member("/a", "b/c~d"), "/a/b~1c~0d");
}
