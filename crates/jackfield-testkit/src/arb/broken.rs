//! Schemas from untrusted servers: some keywords have a valid value, others do not.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

/// The schema of a tool's arguments, possibly malformed, as MCP servers have sent them.
pub fn broken_schema() -> impl Strategy<Value = Value> + Clone {
    let leaf = vec(keyword(), 0..4).prop_map(object).boxed();
    let schema = leaf.prop_recursive(3, 24, 3, |inner| {
        let named = vec((name(), inner.clone()), 0..3);
        let below = prop_oneof![
            named.prop_map(|named| json!(named.into_iter().collect::<Map<_, _>>())),
            vec(inner.clone(), 0..3).prop_map(Value::Array),
            inner,
        ];
        let holders = select(&HOLDERS[..]).prop_map(str::to_owned);
        let held = vec((holders, below), 0..3);
        (vec(keyword(), 0..3), held)
            .prop_map(|(keywords, held)| object(keywords.into_iter().chain(held).collect()))
            .boxed()
    });
    let rooted = schema.prop_flat_map(|schema| {
        let roots = select(vec![
            json!("object"),
            json!(["object", "null"]),
            json!("Object"),
            Value::Null,
        ]);
        roots.prop_map(move |kind| {
            let mut schema = schema.clone();
            if let Some(fields) = schema.as_object_mut() {
                fields.insert("type".to_owned(), kind);
            }
            schema
        })
    });
    rooted.boxed()
}

fn object(fields: Vec<(String, Value)>) -> Value {
    Value::Object(fields.into_iter().collect())
}

fn keyword() -> impl Strategy<Value = (String, Value)> + Clone {
    (select(&KEYWORDS[..]), value())
        .prop_map(|(key, value)| (key.to_owned(), value))
        .boxed()
}

fn value() -> impl Strategy<Value = Value> + Clone {
    let texts = [
        "string",
        "Object",
        "int",
        "file",
        "true",
        "false",
        "",
        "a",
        "([",
        "^a+$",
        "#",
        "#/$defs/a",
        "#/properties/a%20b",
        "#nowhere",
        "https://example.org/schema",
        "http://json-schema.org/draft-04/schema#",
        "http://json-schema.org/draft-07/schema#",
        "7",
    ];
    prop_oneof![
        4 => select(texts.to_vec()).prop_map(Value::from),
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::from),
        1 => (-2..3_i64).prop_map(Value::from),
        1 => Just(json!(1.5)),
        1 => Just(json!([])),
        1 => Just(json!({})),
        1 => vec(name(), 0..3).prop_map(|names| json!(names)),
        1 => Just(json!({ "a": ["b"] })),
    ]
    .boxed()
}

fn name() -> impl Strategy<Value = String> + Clone {
    let long = "n".repeat(70);
    select(vec![
        "a".to_owned(),
        "a b".to_owned(),
        "$top".to_owned(),
        "filter[x]".to_owned(),
        "имя".to_owned(),
        String::new(),
        "properties".to_owned(),
        "default".to_owned(),
        long,
    ])
    .boxed()
}

/// Keywords below which there are schemas.
const HOLDERS: [&str; 14] = [
    "$defs",
    "additionalProperties",
    "allOf",
    "anyOf",
    "definitions",
    "dependencies",
    "dependentSchemas",
    "items",
    "not",
    "oneOf",
    "patternProperties",
    "prefixItems",
    "properties",
    "properties",
];
const KEYWORDS: [&str; 30] = [
    "$anchor",
    "$comment",
    "$defs",
    "$id",
    "$ref",
    "$schema",
    "additionalProperties",
    "anyOf",
    "const",
    "default",
    "dependentRequired",
    "description",
    "enum",
    "examples",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "items",
    "maxItems",
    "maximum",
    "minLength",
    "minimum",
    "multipleOf",
    "oneOf",
    "pattern",
    "properties",
    "required",
    "title",
    "type",
    "uniqueItems",
];
