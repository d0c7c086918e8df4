//! Tools as strangers write them: whatever their schemas are, the vendor takes the list, and calls come back
//! with the tools' own names.

use std::sync::Arc;

use jackfield_dialect_claude::options::Profile;
use jackfield_dialect_claude::stream::{DecodeReply as _, Decoder};
use jackfield_dialect_claude::{request, wire};
use jackfield_dialect_rules::claude;
use jackfield_domain::delta::Delta;
use jackfield_domain::ids::ToolName;
use jackfield_domain::message::{Message, Role};
use jackfield_domain::note::Note;
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::tool::{InputFormat, ToolDefinition};
use jackfield_testkit::arb as kit;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::arb::owner;
use crate::examples::{call, of, outcome};

/// A request that offers tools of these schemas; the first one is called `clock`.
fn with(schemas: Vec<Value>, strict: Option<bool>, messages: Vec<Message>) -> ModelRequest {
    let tools = schemas.into_iter().enumerate().map(|(n, schema)| {
        let name = if n == 0 {
            "clock".to_owned()
        } else {
            format!("tool{n}")
        };
        Arc::new(ToolDefinition {
            description: "Tells the time.".into(),
            extensions: Vec::new(),
            input: InputFormat::Json(Arc::new(schema)),
            name: ToolName::parse(&name).expect("a name"),
            output: None,
            strict,
        })
    });
    ModelRequest {
        tools: Arc::new(tools.collect()),
        ..of(messages)
    }
}

fn made(request: &ModelRequest) -> (wire::Request, Value, Vec<Note>) {
    let made = request::to_wire(request, &owner(), &Profile::NEWEST, true);
    let (body, notes) = made.expect("it can be said");
    let json = serde_json::to_value(&body).expect("JSON");
    (body, json, notes)
}

/// The schema that is sent for this one, and the codes of the notes.
fn sent(schema: Value) -> (Value, Vec<String>) {
    let (_, mut body, notes) = made(&with(vec![schema], None, vec![Message::user("hello")]));
    let found = claude::check(&body, &Profile::NEWEST);
    assert!(found.is_empty(), "{found:?}\n{body:#}");
    let codes = notes.into_iter().map(|note| note.code.into_owned());
    (body["tools"][0]["input_schema"].take(), codes.collect())
}

/// The arguments that are told of a call that the model makes of the tool `clock` with these.
fn told(request: &ModelRequest, arguments: &str) -> String {
    let (body, ..) = made(request);
    let mut decoder = Decoder::for_request(owner(), request, &body);
    let mut told = String::new();
    let mut push = |event: Value| {
        for delta in decoder
            .push(None, &event.to_string())
            .expect("a sound event")
        {
            if let Delta::ArgumentsAppended { text, .. } = delta {
                told.push_str(&text);
            }
        }
    };
    push(json!({ "type": "message_start", "message": {} }));
    push(json!({ "type": "content_block_start", "index": 0,
        "content_block": { "type": "tool_use", "id": "toolu_1", "name": "clock", "input": {} } }));
    let mut rest = arguments;
    while let Some(cut) = rest
        .char_indices()
        .nth(3)
        .map(|(cut, _)| cut)
        .or(Some(rest.len()))
        .filter(|_| !rest.is_empty())
    {
        let (piece, more) = rest.split_at(cut);
        push(json!({ "type": "content_block_delta", "index": 0,
            "delta": { "type": "input_json_delta", "partial_json": piece } }));
        rest = more;
    }
    push(json!({ "type": "content_block_stop", "index": 0 }));
    told
}

#[test]
fn a_choice_at_the_root_is_opened_and_the_model_is_told_of_it() {
    let (schema, codes) = sent(json!({
        "type": "object",
        "properties": { "owner": { "type": "string" } },
        "oneOf": [
            { "properties": { "kind": { "const": "a" }, "id": { "type": "integer" } }, "required": ["kind", "id"] },
            { "properties": { "kind": { "const": "b" } }, "required": ["kind"] },
        ],
    }));
    assert_eq!(
        schema["properties"],
        json!({
            "owner": { "type": "string" },
            "kind": { "anyOf": [{ "const": "a" }, { "const": "b" }] },
            "id": { "type": "integer" },
        })
    );
    assert_eq!(schema["required"], json!(["kind"]));
    let told = schema["description"].as_str().expect("words");
    assert!(told.starts_with("{oneOf: [{"), "{told}");
    assert_eq!(codes, ["schema_keywords_described"]);
}

#[test]
fn what_all_branches_of_a_root_require_is_required_and_references_are_followed() {
    let (schema, _) = sent(json!({
        "$ref": "#/definitions/all",
        "definitions": {
            "all": { "allOf": [
                { "$ref": "#/definitions/one" },
                { "properties": { "b": { "type": "string" } }, "required": ["b"] },
            ] },
            "one": { "type": "object", "properties": { "a": { "type": "string" } }, "required": ["a"] },
        },
    }));
    assert_eq!(
        schema["properties"],
        json!({ "a": { "type": "string" }, "b": { "type": "string" } })
    );
    assert_eq!(schema["required"], json!(["a", "b"]));
    assert_eq!(schema["type"], "object");
}

#[test]
fn a_property_is_offered_under_a_name_that_the_vendor_takes_and_called_by_its_own() {
    let long = "n".repeat(65);
    let schema = json!({
        "type": "object",
        "properties": {
            "filter[name]": { "type": "object", "properties": { "$eq": { "type": "string" } } },
            "fine.-_": { "$ref": "#/properties/filter[name]" },
            (long.clone()): {},
        },
        "required": ["filter[name]"],
    });
    let (sent, codes) = sent(schema.clone());
    assert_eq!(codes, ["property_names_changed"]);
    let names: Vec<&String> = sent["properties"]
        .as_object()
        .expect("an object")
        .keys()
        .collect();
    assert!(
        names[0].starts_with("filter_name__") && *names[1] == "fine.-_",
        "{names:?}"
    );
    assert_eq!(sent["required"], json!([names[0]]));
    assert_eq!(
        sent["properties"]["fine.-_"]["$ref"],
        format!("#/properties/{}", names[0])
    );
    let below: Vec<&String> = sent["properties"][names[0]]["properties"]
        .as_object()
        .expect("an object")
        .keys()
        .collect();

    let own = json!({ "filter[name]": { "$eq": "x" }, "fine.-_": [{ "$eq": 1 }], (long): null });
    let offered = json!({ (names[0].clone()): { (below[0].clone()): "x" }, "fine.-_": [{ (below[0].clone()): 1 }], (names[2].clone()): null });
    let history = vec![
        Message::user("hello"),
        Message::new(
            Role::Assistant,
            vec![call("call_a", Some("toolu_0"), &own.to_string())],
        ),
        Message::new(
            Role::Tool,
            vec![outcome("call_a", ToolResult::text("12:00"))],
        ),
    ];
    let request = with(vec![schema], None, history);
    let (_, body, _) = made(&request);
    assert_eq!(body["messages"][1]["content"][0]["input"], offered);
    let told = told(&request, &offered.to_string());
    assert_eq!(serde_json::from_str::<Value>(&told).expect("JSON"), own);
    // What was cut off stays what it is.
    assert_eq!(self::told(&request, "{\"filter"), "{\"filter");
    assert_eq!(self::told(&request, ""), "");
}

proptest! {
    #[test]
    fn no_tool_takes_the_list_with_it(schemas in vec(kit::broken_schema(), 1..4), strict in any::<Option<bool>>()) {
        let count = schemas.len();
        let request = with(schemas, strict, vec![Message::user("hello")]);
        let (_, body, notes) = made(&request);
        let found = claude::check(&body, &Profile::NEWEST);
        prop_assert!(found.is_empty(), "{found:?}\n{body:#}");
        prop_assert_eq!(body["tools"].as_array().expect("a list").len(), count);
        for (n, tool) in request.tools.iter().enumerate() {
            let InputFormat::Json(own) = &tool.input else { unreachable!() };
            let is_told = notes.iter().any(|note| note.path.starts_with(&format!("tools[{n}]")));
            prop_assert!(is_told || body["tools"][n]["input_schema"] == **own, "{own} is told of nowhere");
        }
    }

    #[test]
    fn calls_come_back_with_the_tools_own_names(schema in kit::broken_schema()) {
        let request = with(vec![schema.clone()], None, vec![Message::user("hello")]);
        let (_, body, _) = made(&request);
        let offered = body["tools"][0]["input_schema"]["properties"].as_object().cloned().unwrap_or_default();
        let arguments: Map<String, Value> = offered.keys().map(|name| (name.clone(), json!(name))).collect();
        let told: Map<String, Value> = serde_json::from_str(&told(&request, &Value::Object(arguments).to_string())).expect("JSON");
        prop_assert_eq!(told.len(), offered.len());
        let text = schema.to_string();
        for name in told.keys() {
            prop_assert!(text.contains(&json!(name).to_string()), "{name} is no name of {text}");
        }
    }
}
