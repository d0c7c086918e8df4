//! Schemas in the strict subset, and at the root.

use std::sync::Arc;

use jackfield_dialect_openai::schema::{restrict, rooted};
use jackfield_testkit::arb as kit;
use proptest::prelude::*;
use serde_json::{Value, json};

/// An object's schema with these properties, all of them required and nothing else allowed.
fn closed(properties: Value) -> Value {
    let names: Vec<String> = properties
        .as_object()
        .into_iter()
        .flat_map(serde_json::Map::keys)
        .cloned()
        .collect();
    json!({ "type": "object", "properties": properties, "required": names, "additionalProperties": false })
}

/// What one property becomes, and the changes by code and pointer.
#[track_caller]
fn property(schema: Value) -> (Value, Vec<(&'static str, String)>) {
    let (mut restricted, changes) = restrict(&closed(json!({ "p": schema }))).expect("a subset");
    let changes = changes.into_iter().map(|c| (c.code, c.pointer)).collect();
    (restricted["properties"]["p"].take(), changes)
}

#[test]
fn what_is_within_the_subset_stays_as_it_is() {
    let schema = json!({
        "type": "object",
        "title": "A place",
        "properties": {
            "city": { "type": "string", "description": "Its name", "pattern": "^[A-Z]" },
            "date": { "type": ["string", "null"], "format": "date" },
            "kind": { "type": "string", "enum": ["a", "b"] },
            "near": { "type": "array", "items": { "$ref": "#/$defs/near" }, "minItems": 1, "maxItems": 3 },
            "unit": { "anyOf": [{ "type": "string", "const": "km" }, { "type": "null" }] },
            "zoom": { "type": "number", "minimum": 0, "exclusiveMaximum": 20, "multipleOf": 0.5 },
            "all": { "$ref": "#" },
        },
        "required": ["city", "date", "kind", "near", "unit", "zoom", "all"],
        "additionalProperties": false,
        "$defs": { "near": closed(json!({ "flag": { "type": "boolean" } })) },
    });
    assert_eq!(restrict(&schema), Some((schema, Vec::new())));
}

#[test]
fn an_open_object_is_closed_and_says_so() {
    for more in [json!({}), json!({ "additionalProperties": true })] {
        let mut schema = closed(json!({ "a": { "type": "string" } }));
        let fields = schema.as_object_mut().expect("an object");
        fields.shift_remove("additionalProperties");
        fields.extend(more.as_object().expect("an object").clone());
        let (restricted, changes) = restrict(&schema).expect("a subset");
        assert_eq!(restricted, closed(json!({ "a": { "type": "string" } })));
        let codes: Vec<_> = changes.iter().map(|c| (c.code, &*c.pointer)).collect();
        assert_eq!(codes, [("schema_closed", "")]);
    }
}

#[test]
fn an_optional_property_is_required_only_where_null_stands_for_it() {
    let optional = |schema: Value| {
        let mut object = closed(json!({ "p": schema }));
        object["required"] = json!([]);
        restrict(&object)
    };
    for schema in [
        json!({ "type": ["string", "null"] }),
        json!({ "type": "null" }),
        json!({ "enum": ["a", null] }),
        json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] }),
    ] {
        let (restricted, changes) = optional(schema.clone()).expect("a subset");
        assert_eq!(restricted["required"], json!(["p"]), "{schema}");
        let told = changes.iter().any(|change| {
            (change.code, &*change.pointer) == ("schema_property_required", "/properties/p")
        });
        assert!(told, "{schema}: {changes:?}");
    }
    for schema in [
        json!({ "type": "string" }),
        json!({ "type": ["string", "null"], "enum": ["a"] }),
        json!({ "anyOf": [{ "type": "string" }] }),
    ] {
        assert_eq!(optional(schema.clone()), None, "{schema}");
    }
}

#[test]
fn keywords_outside_the_subset_are_described() {
    let (restricted, changes) = property(
        json!({ "type": "string", "description": "Who", "format": "uri", "minLength": 2, "pattern": "x", "default": "y", "examples": ["z"] }),
    );
    let said = "Who\n\n{format: \"uri\", minLength: 2, default: \"y\"}";
    assert_eq!(
        restricted,
        json!({ "type": "string", "pattern": "x", "description": said })
    );
    assert_eq!(
        changes,
        [("schema_keywords_described", "/properties/p".to_owned())]
    );
}

#[test]
fn a_choice_is_any_of_and_one_of_one_is_merged() {
    let (restricted, changes) =
        property(json!({ "oneOf": [{ "type": "string" }, { "type": "null" }] }));
    assert_eq!(
        restricted,
        json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] })
    );
    assert_eq!(changes, [("schema_one_of", "/properties/p".to_owned())]);
    let (restricted, changes) =
        property(json!({ "description": "d", "allOf": [{ "type": "string" }] }));
    assert_eq!(restricted, json!({ "description": "d", "type": "string" }));
    assert_eq!(changes, [("schema_all_of_one", "/properties/p".to_owned())]);
}

#[test]
fn a_reference_beside_words_becomes_a_choice_of_one() {
    let mut schema = closed(json!({ "p": { "$ref": "#/definitions/d", "description": "d" } }));
    schema["definitions"] = json!({ "d": { "type": "string" } });
    let (restricted, changes) = restrict(&schema).expect("a subset");
    assert_eq!(
        restricted["properties"]["p"],
        json!({ "description": "d", "anyOf": [{ "$ref": "#/$defs/d" }] })
    );
    assert_eq!(restricted["$defs"], json!({ "d": { "type": "string" } }));
    let codes: Vec<_> = changes.iter().map(|c| (c.code, &*c.pointer)).collect();
    assert_eq!(
        codes,
        [
            ("schema_definitions_renamed", ""),
            ("schema_definitions_renamed", "/properties/p"),
            ("schema_beside_reference", "/properties/p"),
        ]
    );
}

#[test]
fn a_root_that_is_a_reference_is_opened() {
    let node =
        closed(json!({ "next": { "anyOf": [{ "$ref": "#/$defs/node" }, { "type": "null" }] } }));
    let schema = json!({ "$ref": "#/$defs/node", "$defs": { "node": node } });
    let (restricted, changes) = restrict(&schema).expect("a subset");
    assert_eq!(restricted["properties"], node["properties"]);
    assert_eq!(restricted["$defs"]["node"], node);
    assert_eq!(changes[0].code, "schema_reference_opened");
}

#[test]
fn what_has_no_strict_form_has_none() {
    for schema in [
        json!(true),
        json!({}),
        json!({ "type": "string" }),
        json!({ "type": ["object", "null"], "properties": {}, "additionalProperties": false }),
        json!({ "type": "object" }),
        json!({ "anyOf": [closed(json!({}))] }),
        json!({ "type": "object", "properties": {}, "required": ["a"] }),
        json!({ "type": "object", "additionalProperties": { "type": "string" } }),
        json!({ "type": "object", "properties": {}, "patternProperties": { "^x": {} } }),
        closed(json!({ "a": true })),
        closed(json!({ "a": {} })),
        closed(json!({ "a": { "type": "any" } })),
        closed(json!({ "a": { "type": [] } })),
        closed(json!({ "a": { "type": "array" } })),
        closed(json!({ "a": { "type": "string", "enum": [] } })),
        closed(json!({ "a": { "const": {} } })),
        closed(json!({ "a": { "anyOf": [] } })),
        closed(json!({ "a": { "$ref": "#/$defs/nowhere" } })),
        closed(json!({ "a": { "$ref": "https://example.org/schema" } })),
        closed(json!({ "a": { "allOf": [{ "type": "string" }, { "type": "string" }] } })),
        closed(json!({ "a": { "type": "string", "allOf": [{ "type": "number" }] } })),
    ] {
        assert_eq!(restrict(&schema), None, "{schema}");
    }
}

#[test]
fn a_schema_larger_than_the_vendor_takes_has_no_strict_form() {
    let nested = |levels: usize| {
        let mut schema = closed(json!({}));
        for _ in 1..levels {
            schema = closed(json!({ "a": schema }));
        }
        restrict(&schema).is_some()
    };
    assert!(nested(10) && !nested(11));
    let listed = |count: usize, length: usize| {
        let values: Vec<String> = (0..count).map(|n| format!("{n:0length$}")).collect();
        restrict(&closed(
            json!({ "a": { "type": "string", "enum": values } }),
        ))
        .is_some()
    };
    assert!(listed(1000, 15) && !listed(1001, 1), "values");
    assert!(listed(250, 400) && !listed(251, 400), "a long list");
    let named = |count: usize, length: usize| {
        let properties = (0..count).map(|n| (format!("{n:0length$}"), json!({ "type": "null" })));
        restrict(&closed(Value::Object(properties.collect()))).is_some()
    };
    assert!(named(5000, 4) && !named(5001, 4), "properties");
    assert!(named(1200, 100) && !named(1201, 100), "characters");
}

#[test]
fn a_root_is_an_objects_whatever_it_was() {
    type Case = (Value, Value, &'static [(&'static str, &'static str)]);
    let cases: [Case; 5] = [
        (
            json!({ "type": "object" }),
            json!({ "type": "object", "properties": {} }),
            &[("schema_properties_added", "")],
        ),
        (
            json!({ "properties": { "a": { "type": ["array", "null"] } } }),
            json!({ "properties": { "a": { "type": ["array", "null"], "items": {} } }, "type": "object" }),
            &[
                ("schema_root_made_object", ""),
                ("schema_items_added", "/properties/a"),
            ],
        ),
        (
            json!(true),
            json!({ "type": "object", "properties": {} }),
            &[
                ("schema_root_made_object", ""),
                ("schema_properties_added", ""),
            ],
        ),
        (
            json!({ "type": "object", "properties": { "a": { "type": "string" } }, "anyOf": [{ "properties": { "a": true, "b": { "type": "null" } } }] }),
            json!({ "type": "object", "properties": { "a": { "type": "string" }, "b": { "type": "null" } },
                "description": "{anyOf: [{\"properties\":{\"a\":true,\"b\":{\"type\":\"null\"}}}]}" }),
            &[("schema_keywords_described", "")],
        ),
        (
            json!({ "type": "object", "enum": [1], "not": {} }),
            json!({ "type": "object", "properties": {}, "description": "{enum: [1], not: {}}" }),
            &[
                ("schema_keywords_described", ""),
                ("schema_properties_added", ""),
            ],
        ),
    ];
    for (schema, expected, changes) in cases {
        let (sent, told) = rooted(&Arc::new(schema.clone()));
        assert_eq!(*sent, expected, "{schema}");
        let told: Vec<_> = told.iter().map(|c| (c.code, &*c.pointer)).collect();
        assert_eq!(told, changes, "{schema}");
    }
}

proptest! {
    #[test]
    fn fitting_twice_is_fitting_once(schema in prop_oneof![kit::schema(), kit::json()]) {
        let (once, changes) = rooted(&Arc::new(schema.clone()));
        prop_assert_eq!(changes.is_empty(), *once == schema);
        prop_assert_eq!(rooted(&once), (once, Vec::new()));
        if let Some((once, changes)) = restrict(&schema) {
            prop_assert_eq!(changes.is_empty(), once == schema);
            prop_assert_eq!(restrict(&once), Some((once, Vec::new())));
        }
    }
}
