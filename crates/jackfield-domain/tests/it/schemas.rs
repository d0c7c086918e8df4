//! Schemas that are broken, and what is made of them.

use jackfield_domain::schema::{RepairedSchema, repair, target};
use jackfield_testkit::arb;
use proptest::prelude::*;
use serde_json::{Value, json};

fn is_pattern(text: &str) -> bool {
    !text.contains("([")
}

fn mended(schema: &Value) -> Option<RepairedSchema> {
    repair(schema, &is_pattern)
}

#[test]
fn what_is_plain_is_mended() {
    for (broken, sound) in [
        (
            json!({ "properties": [], "type": "object" }),
            json!({ "properties": {}, "type": "object" }),
        ),
        (json!({ "required": null }), json!({})),
        (json!({ "required": false }), json!({})),
        (json!({ "required": "a" }), json!({ "required": ["a"] })),
        (
            json!({ "required": ["a", "a", 1] }),
            json!({ "required": ["a"] }),
        ),
        (
            json!({ "description": null, "title": 7 }),
            json!({ "title": "7" }),
        ),
        (
            json!({ "minimum": 3, "exclusiveMinimum": true, "maximum": 9, "exclusiveMaximum": false }),
            json!({ "exclusiveMinimum": 3, "maximum": 9 }),
        ),
        (json!({ "type": "String" }), json!({ "type": "string" })),
        (
            json!({ "type": ["int", "null", "integer"] }),
            json!({ "type": ["integer", "null"] }),
        ),
        (json!({ "type": "any" }), json!({})),
        (
            json!({ "properties": { "a": { "type": "string", "required": true }, "b": null } }),
            json!({ "properties": { "a": { "type": "string" }, "b": {} }, "required": ["a"] }),
        ),
        (
            json!({ "items": [{ "type": "string" }], "additionalItems": false }),
            json!({ "prefixItems": [{ "type": "string" }], "items": false }),
        ),
        (
            json!({ "additionalProperties": "false" }),
            json!({ "additionalProperties": false }),
        ),
        (
            json!({ "anyOf": { "type": "string" } }),
            json!({ "anyOf": [{ "type": "string" }] }),
        ),
        (
            json!({ "enum": ["a", "a"], "minLength": "2" }),
            json!({ "enum": ["a"], "minLength": 2 }),
        ),
        (
            json!({ "properties": { "a": "string" } }),
            json!({ "properties": { "a": { "type": "string" } } }),
        ),
        (
            json!({ "$schema": "http://json-schema.org/draft-04/schema#", "type": "object" }),
            json!({ "type": "object" }),
        ),
    ] {
        let Some(RepairedSchema {
            is_lossy: loses,
            schema,
        }) = mended(&broken)
        else {
            panic!("{broken} is taken for a sound one");
        };
        assert_eq!(schema, sound, "{broken}");
        assert!(!loses, "{broken}");
    }
}

#[test]
fn what_cannot_be_mended_is_told_in_the_description() {
    for (broken, sound) in [
        (
            json!({ "type": "file" }),
            json!({ "description": "{type: \"file\"}" }),
        ),
        (
            json!({ "description": "Where", "$ref": "#/$defs/nowhere" }),
            json!({ "description": "Where\n\n{$ref: \"#/$defs/nowhere\"}" }),
        ),
        (
            json!({ "$ref": "https://example.org/schema" }),
            json!({ "description": "{$ref: \"https://example.org/schema\"}" }),
        ),
        (
            json!({ "pattern": "([" }),
            json!({ "description": "{pattern: \"([\"}" }),
        ),
        (
            json!({ "minLength": -1 }),
            json!({ "description": "{minLength: -1}" }),
        ),
        (
            json!({ "$ref": "#/$defs/a", "$defs": { "a": { "$ref": "#/$defs/a" } } }),
            json!({
                "description": "{$ref: \"#/$defs/a\"}",
                "$defs": { "a": { "description": "{$ref: \"#/$defs/a\"}" } },
            }),
        ),
    ] {
        let Some(RepairedSchema {
            is_lossy: loses,
            schema,
        }) = mended(&broken)
        else {
            panic!("{broken} is taken for a sound one");
        };
        assert_eq!(schema, sound, "{broken}");
        assert!(loses, "{broken}");
    }
}

#[test]
fn what_is_sound_stays_as_it_is() {
    for sound in [
        json!(true),
        json!({}),
        json!({
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "properties": {
                "default": { "$ref": "#/definitions/n" },
                "properties": { "type": "object", "properties": { "required": { "const": null } } },
                "type": { "enum": [{ "type": 7, "required": false }], "default": null },
            },
            "required": ["type"],
            "definitions": { "n": { "type": ["integer", "null"], "exclusiveMinimum": 0.5 } },
        }),
        json!({ "$id": "https://example.org/a", "allOf": [{ "$ref": "https://example.org/a#/$defs/b" }], "$defs": { "b": {} } }),
        json!({ "$ref": "#here", "$defs": { "x": { "$anchor": "here", "properties": { "again": { "$ref": "#" } } } } }),
    ] {
        assert_eq!(mended(&sound), None, "{sound}");
    }
}

#[test]
fn a_reference_is_followed_within_the_document_alone() {
    let schema = json!({
        "$defs": { "a b": { "$ref": "#/$defs/c~1d" }, "c/d": { "type": "string" }, "e": 7 },
    });
    let found = |reference| target(&schema, reference);
    assert_eq!(
        found("#/$defs/a%20b"),
        Some(&json!({ "$ref": "#/$defs/c~1d" }))
    );
    assert_eq!(found("#"), Some(&schema));
    for nowhere in [
        "#/$defs/e",
        "#/$defs/f",
        "#anchor",
        "other",
        "http://x/#",
        "#/%",
    ] {
        assert_eq!(found(nowhere), None, "{nowhere}");
    }
}

proptest! {
    #[test]
    fn whatever_is_mended_is_sound(schema in arb::broken_schema()) {
        if let Some(once) = mended(&schema) {
            prop_assert_ne!(&once.schema, &schema);
            prop_assert_eq!(mended(&once.schema), None, "{}", once.schema);
        }
    }

    #[test]
    fn any_json_can_be_mended(json in arb::json()) {
        drop(mended(&json));
    }
}
