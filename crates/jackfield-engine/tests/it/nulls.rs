//! Arguments that are `null`: where they may be missing and may not be `null`, they count as missing.

use std::sync::Arc;

use jackfield_domain::outcome::ToolResult;
use jackfield_domain::tool::InputFormat;
use jackfield_engine::Engine;
use jackfield_store_memory::MemoryJournal;
use serde_json::{Value, json};

use crate::fixture::{Log, OneTool};
use crate::schemas::call;

/// The arguments that a tool of this schema gets, or why it was not called.
async fn passed(schema: &Value, arguments: &Value) -> Result<Value, String> {
    let mut tool = OneTool::new(&Log::default(), |run| async move {
        let arguments = run.arguments().cloned().unwrap_or_default();
        ToolResult::text(Value::Object(arguments).to_string())
    });
    tool.spec.input = InputFormat::Json(Arc::new(schema.clone()));
    let builder = Engine::builder(Arc::new(MemoryJournal::default()));
    let engine = builder.toolbox(Arc::new(tool)).build();
    let arguments = arguments.as_object().expect("an object").clone();
    let result = call(&engine, arguments).await;
    let text = result.to_text();
    if result.is_error {
        return Err(text);
    }
    Ok(serde_json::from_str(&text).expect("JSON"))
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "city": { "type": "string" },
            "days": { "type": ["integer", "null"] },
            "a/b": { "anyOf": [{ "type": "string" }, { "type": "integer" }] },
            "unit": { "enum": ["c", "f"] },
            "place": { "$ref": "#/$defs/place" },
            "places": { "type": "array", "items": { "$ref": "#/$defs/place" } },
        },
        "required": ["city"],
        "additionalProperties": false,
        "$defs": { "place": {
            "type": "object",
            "properties": { "name": { "type": "string" }, "zip": { "type": "string" } },
            "required": ["name"],
        } },
    })
}

#[tokio::test]
async fn an_optional_argument_that_is_null_counts_as_missing() {
    let cases = [
        (json!({ "unit": null }), json!({})),
        (json!({ "a/b": null, "place": null }), json!({})),
        // This one may be `null`, which the tool may read as something else than nothing.
        (
            json!({ "days": null, "unit": null }),
            json!({ "days": null }),
        ),
        (
            json!({ "place": { "name": "X", "zip": null } }),
            json!({ "place": { "name": "X" } }),
        ),
        (
            json!({ "places": [{ "name": "X", "zip": null }] }),
            json!({ "places": [{ "name": "X" }] }),
        ),
        (json!({ "unit": "c" }), json!({ "unit": "c" })),
    ];
    for (mut given, mut expected) in cases {
        given["city"] = json!("Bath");
        expected["city"] = json!("Bath");
        assert_eq!(passed(&schema(), &given).await, Ok(expected), "{given}");
    }
}

#[tokio::test]
async fn a_null_that_cannot_be_missing_is_refused_as_it_is() {
    let cases = [
        (json!({ "city": null }), "`/city`: null is not of type"),
        (
            json!({ "city": "X", "place": { "name": null } }),
            "`/place/name`: null",
        ),
        (
            json!({ "city": "X", "places": [null] }),
            "`/places/0`: null",
        ),
        (json!({ "city": null, "unit": null }), "`/city`: null"),
    ];
    for (given, expected) in cases {
        let refused = passed(&schema(), &given).await.expect_err("refused");
        assert!(refused.contains(expected), "{refused}");
    }
}
