//! The clause about the definitions of tools in a request.

use std::sync::Arc;

use jackfield_domain::tool::{InputFormat, ToolDefinition};
use serde_json::{Value, json};

use super::super::bench::{Bench, SentRequest, tool};
use super::super::{ChatModelHarness, EchoedTool};

pub(in super::super) async fn tools_are_sent_whole<H: ChatModelHarness>(harness: &H) {
    if !harness.capabilities().tools {
        return;
    }
    let bench = Bench::new(harness).await;
    // What every vendor takes: here a note is no excuse.
    let weather = "Tells the \"weather\" & more.\nIn words.";
    let plain = [
        defined("weather", weather, plain_schema()),
        defined("clock", "Tells the time.", named("The place of the clock.")),
    ];
    let Some(sent) = sent(&bench, &plain).await else {
        panic!("plain tools are refused");
    };
    assert_eq!(
        sent.echo.tools,
        plain.map(|tool| echoed(&tool)),
        "plain tools\n{sent}"
    );

    let mut strict = defined("strict", "Enforces its schema.", strict_schema());
    strict.strict = Some(true);
    let mut text = defined("note", "Takes a note.", Value::Null);
    text.input = InputFormat::Text(None);
    for rare in [
        defined("anything", "Takes anything.", rich_schema()),
        defined(
            "hello",
            "Takes nothing.",
            json!({ "type": "object", "properties": {} }),
        ),
        strict,
        text,
    ] {
        let expected = echoed(&rare);
        let tools = [defined("clock", "Tells the time.", named("A place.")), rare];
        let Some(sent) = self::sent(&bench, &tools).await else {
            continue;
        };
        let [_, said] = &*sent.echo.tools else {
            panic!("two tools are others on the wire\n{sent}");
        };
        let mut said = said.clone();
        if sent.is_noted("tools[1].input") {
            said.schema.clone_from(&expected.schema);
        }
        if sent.is_noted("tools[1].strict") {
            said.strict = expected.strict;
        }
        assert_eq!(said, expected, "a tool is another one on the wire\n{sent}");
    }
}

/// A request with these tools, as it was sent.
async fn sent<H: ChatModelHarness>(
    bench: &Bench<'_, H>,
    tools: &[ToolDefinition],
) -> Option<SentRequest> {
    let mut request = bench.request();
    request.tools = Arc::new(tools.iter().cloned().map(Arc::new).collect());
    bench.sent(&request).await
}

fn defined(name: &str, description: &str, schema: Value) -> ToolDefinition {
    ToolDefinition {
        description: description.into(),
        input: InputFormat::Json(Arc::new(schema)),
        ..ToolDefinition::clone(&tool(name))
    }
}

/// A definition as the wire has to have it.
fn echoed(tool: &ToolDefinition) -> EchoedTool {
    EchoedTool {
        description: (*tool.description).to_owned(),
        name: tool.name.as_str().to_owned(),
        schema: match &tool.input {
            InputFormat::Json(schema) => Some((**schema).clone()),
            InputFormat::Text(_) => None,
        },
        strict: tool.strict,
    }
}

/// The keywords that every vendor takes.
fn plain_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "city": { "type": "string", "description": "The city, as \"Oslo\"." },
            "days": { "type": "integer" },
            "exact": { "type": "boolean" },
            "unit": { "type": "string", "enum": ["celsius", "kelvin"] },
            "stations": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": { "height": { "type": "number" } },
                    "required": ["height"],
                },
            },
        },
        "required": ["city", "days"],
    })
}

/// A property with a description.
fn named(description: &str) -> Value {
    json!({
        "type": "object",
        "properties": { "place": { "type": "string", "description": description } },
        "required": ["place"],
    })
}

/// What vendors ask of a schema that they enforce.
fn strict_schema() -> Value {
    json!({
        "type": "object",
        "properties": { "place": { "type": "string" } },
        "required": ["place"],
        "additionalProperties": false,
    })
}

/// Keywords that some vendor lacks.
fn rich_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "count": { "type": "integer", "minimum": 1, "maximum": 9, "default": 2 },
            "day": { "type": "string", "format": "date" },
            "either": { "anyOf": [{ "type": "string" }, { "type": "null" }] },
            "place": { "$ref": "#/$defs/place" },
            "word": { "type": "string", "pattern": "^[a-z]+$", "maxLength": 20 },
        },
        "required": ["count"],
        "additionalProperties": false,
        "$defs": { "place": { "type": "string" } },
    })
}
