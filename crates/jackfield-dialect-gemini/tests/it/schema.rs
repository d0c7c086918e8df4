//! Schemas as they are sent, and as clients write them.

use std::sync::Arc;

use jackfield_dialect_gemini::options::Profile;
use jackfield_dialect_gemini::request;
use jackfield_domain::message::Message;
use jackfield_domain::request::{ModelRef, ModelRequest};
use jackfield_domain::settings::{ResponseFormat, Settings};
use jackfield_domain::tool::InputFormat;
use serde_json::{Value, json};

use crate::arb::owner;

/// A schema of an answer, as it is sent, with its notes.
fn sent(schema: Value) -> (Value, Vec<String>) {
    let request = ModelRequest {
        choice: jackfield_domain::tool::ToolChoice::Auto,
        messages: [Message::user("hi")].into_iter().collect(),
        model: ModelRef {
            model: "model-a".into(),
            provider: "gemini".into(),
        },
        turn: None,
        settings: Arc::new(Settings {
            response_format: ResponseFormat::JsonSchema {
                description: None,
                name: "response".into(),
                schema: Arc::new(schema),
                strict: None,
            },
            ..Settings::default()
        }),
        strict: None,
        system: Arc::default(),
        tools: Arc::default(),
        searchable: Arc::default(),
        tools_as_text: false,
        whole: false,
    };
    let made = request::to_wire(&request, &owner(), &Profile::NEWEST);
    let (body, notes) = made.expect("a body");
    let config = body.generation_config.expect("a format");
    let codes = notes.iter().map(|note| note.code.to_string());
    (
        config.response_json_schema.expect("a schema"),
        codes.collect(),
    )
}

#[test]
fn what_is_honoured_is_sent_as_it_is() {
    let schema = json!({
        "type": "object",
        "$defs": { "City": { "type": "string", "enum": ["Oslo", "Bergen"] } },
        "properties": {
            "city": { "$ref": "#/$defs/City" },
            "when": { "type": ["string", "null"], "format": "date-time" },
            "list": { "type": "array", "items": { "anyOf": [{ "type": "number", "minimum": 0 }, { "type": "null" }] }, "maxItems": 3 },
        },
        "required": ["city"],
        "additionalProperties": false,
        "propertyOrdering": ["city", "when"],
    });
    assert_eq!(sent(schema.clone()), (schema, Vec::new()));
}

#[test]
fn each_keyword_that_is_not_honoured_goes_another_way() {
    let object = |property: Value| json!({ "type": "object", "properties": { "a": property, "b": { "type": "string" } } });
    for (property, expected, code) in [
        (
            json!({ "const": "x" }),
            json!({ "enum": ["x"] }),
            "schema_const_as_enum",
        ),
        (json!(true), json!({}), "schema_made_object"),
        (
            json!({ "type": "string", "enum": ["a", null] }),
            json!({ "type": "string", "description": "{enum: [\"a\",null]}" }),
            "schema_keywords_described",
        ),
        (
            json!({ "type": "string", "description": "A word.", "pattern": "^a" }),
            json!({ "type": "string", "description": "A word.\n\n{pattern: \"^a\"}" }),
            "schema_keywords_described",
        ),
        (
            json!({ "allOf": [{ "type": "object", "required": ["x"], "properties": { "x": { "type": "string" } } }, { "required": ["y"], "properties": { "y": { "type": "string" } } }] }),
            json!({ "type": "object", "required": ["x", "y"], "properties": { "x": { "type": "string" }, "y": { "type": "string" } } }),
            "schema_all_of_merged",
        ),
        (
            json!({ "$ref": "#/properties/b" }),
            json!({}),
            "schema_reference_cut",
        ),
    ] {
        let (said, codes) = sent(object(property.clone()));
        assert_eq!(said["properties"]["a"], expected, "{property}");
        assert_eq!(codes, [code], "{property}");
    }
}

#[test]
fn a_definition_that_leads_to_itself_is_not_required() {
    let node = |required: Value| {
        json!({
            "type": "object",
            "$defs": { "Node": {
                "type": "object",
                "properties": { "next": { "$ref": "#/$defs/Node" }, "name": { "type": "string" } },
                "required": required,
            } },
            "properties": { "root": { "$ref": "#/$defs/Node" } },
        })
    };
    let (said, codes) = sent(node(json!(["next", "name"])));
    assert_eq!(said, node(json!(["name"])));
    assert_eq!(codes, ["schema_cycle_not_required"]);
}

/// As the SDKs and older clients declare functions.
#[test]
fn schemas_in_the_form_of_openapi_are_read() {
    let body = json!({
        "contents": [{ "parts": [{ "text": "hi" }] }],
        "tools": [{ "function_declarations": [{ "name": "clock", "parameters": {
            "type": "OBJECT",
            "properties": {
                "tz": { "type": "STRING", "nullable": true, "max_length": "9" },
                "list": { "type": "ARRAY", "items": { "type": "NUMBER" }, "min_items": "1" },
            },
            "property_ordering": ["tz"],
        } }] }],
    });
    let parsed = request::parse(body.to_string().as_bytes()).expect("a body");
    let incoming = request::from_wire(parsed, "model-a", &owner()).expect("a request");
    let InputFormat::Json(schema) = &incoming.tools[0].input else {
        panic!("a schema");
    };
    let expected = json!({
        "type": "object",
        "properties": {
            "tz": { "type": ["string", "null"], "maxLength": 9 },
            "list": { "type": "array", "items": { "type": "number" }, "minItems": 1 },
        },
        "propertyOrdering": ["tz"],
    });
    assert_eq!(**schema, expected);
}
