//! The record of what a schema lost.

use std::sync::Arc;

use jackfield_dialect_kit::metaschema::faults;
use jackfield_dialect_kit::schema::{Changes, member, object};
use jackfield_domain::note::NoteEffect;
use jackfield_testkit::arb;
use proptest::prelude::*;
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

#[test]
fn what_breaks_the_rules_of_schemas_is_found() {
    for (broken, pointer) in [
        (json!({ "properties": [] }), "/properties"),
        (json!({ "properties": { "a": null } }), "/properties/a"),
        (json!({ "required": false }), "/required"),
        (json!({ "exclusiveMinimum": true }), "/exclusiveMinimum"),
        (json!({ "description": null }), "/description"),
        (json!({ "type": "file" }), "/type"),
        (json!({ "items": [{}] }), "/items"),
        (json!({ "$ref": "#/$defs/nowhere" }), "/$ref"),
        (json!({ "$ref": "https://example.org/schema" }), "/$ref"),
        (json!({ "pattern": "([" }), "/pattern"),
        (json!({ "anyOf": [] }), "/anyOf"),
        (json!({ "enum": ["a", "a"] }), "/enum"),
    ] {
        assert_eq!(faults(&broken), [pointer], "{broken}");
    }
    for sound in [
        json!(true),
        json!({ "$ref": "#/$defs/a", "$defs": { "a": { "pattern": "^(?!x)[a-z]+$" } } }),
        json!({ "properties": { "required": { "const": null } }, "x-more": null }),
    ] {
        assert_eq!(faults(&sound), [""; 0], "{sound}");
    }
}

proptest! {
    #[test]
    fn whatever_a_schema_is_the_arguments_have_a_sound_one(schema in arb::broken_schema()) {
        let choices = ["allOf", "anyOf", "oneOf"];
        let (made, changes) = object(&Arc::new(schema.clone()), &choices);
        prop_assert_eq!(faults(&made), [""; 0], "{} of {}", made, schema);
        prop_assert_eq!(&made["type"], "object");
        prop_assert!(choices.iter().all(|key| made.get(key).is_none()));
        prop_assert_eq!(*made == schema, changes.is_empty());
        let (again, changes) = object(&made, &choices);
        prop_assert_eq!(&again, &made);
        prop_assert!(changes.is_empty());
    }
}
