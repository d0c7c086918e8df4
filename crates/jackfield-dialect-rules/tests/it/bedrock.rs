//! Bedrock's rules, each with a body that breaks it and nothing else.

use jackfield_dialect_rules::bedrock::{self, Rule};
use serde_json::{Value, json};

const CLAUDE: &str = "us.anthropic.claude-sonnet-4-6";
const LLAMA: &str = "us.meta.llama4-scout-17b-instruct-v1:0";

/// A sound body with a bit of everything.
fn sound() -> Value {
    let document = json!({
        "format": "pdf",
        "name": "a report (1)",
        "source": { "bytes": "AAAA" },
        "context": "Of last year.",
        "citations": { "enabled": true },
    });
    json!({
        "system": [{ "text": "Be brief." }],
        "messages": [
            { "role": "user", "content": [
                { "text": "What time is it?" },
                { "cachePoint": { "type": "default", "ttl": "1h" } },
                { "image": { "format": "png", "source": { "bytes": "AAAA" } } },
                { "document": document },
            ] },
            { "role": "assistant", "content": [
                { "reasoningContent": { "reasoningText": { "text": "Hm.", "signature": "c2ln" } } },
                { "reasoningContent": { "redactedContent": "AAAA" } },
                { "toolUse": { "toolUseId": "a", "name": "clock", "input": {} } },
                { "toolUse": { "toolUseId": "b.1", "name": "clock", "input": { "tz": "CET" } } },
            ] },
            { "role": "user", "content": [
                { "toolResult": { "toolUseId": "b.1", "content": [{ "text": "12:00" }, { "json": [] }] } },
                { "toolResult": { "toolUseId": "a", "content": [{ "text": "no" }], "status": "error" } },
            ] },
            { "role": "system", "content": [{ "text": "Speak softly." }] },
        ],
        "inferenceConfig": { "maxTokens": 100, "temperature": 0.5, "topP": 1, "stopSequences": ["END"] },
        "toolConfig": {
            "tools": [{ "toolSpec": {
                "name": "clock",
                "description": "Tells the time.",
                "inputSchema": { "json": { "type": "object", "properties": {} } },
                "strict": true,
            } }],
            "toolChoice": { "tool": { "name": "clock" } },
        },
        "additionalModelResponseFieldPaths": ["/stop_sequence"],
        "additionalModelRequestFields": { "top_k": 5, "tool_choice": { "disable_parallel_tool_use": true } },
        "outputConfig": { "effort": "low", "textFormat": { "type": "json_schema", "structure": { "jsonSchema": {
            "schema": "{\"type\":\"object\"}",
            "name": "time",
        } } } },
        "serviceTier": { "type": "flex" },
    })
}

fn faults(body: &Value, model: &str) -> Vec<(String, Rule)> {
    let found = bedrock::check(body, model).into_iter();
    found.map(|broken| (broken.path, broken.rule)).collect()
}

#[test]
fn a_sound_body_breaks_no_rule() {
    assert_eq!(faults(&sound(), CLAUDE), []);
}

#[test]
fn each_rule_is_broken_by_one_change() {
    let two_tools = json!([
        { "toolSpec": { "name": "clock", "inputSchema": { "json": { "type": "object" } } } },
        { "toolSpec": { "name": "clock", "inputSchema": { "json": { "type": "object" } } } },
    ]);
    for (pointer, value, path, rule) in [
        ("/mood", json!("fine"), "mood", Rule::UnknownField),
        (
            "/inferenceConfig/maxTokens",
            json!(0),
            "inferenceConfig.maxTokens",
            Rule::OutOfRange,
        ),
        (
            "/inferenceConfig/topP",
            json!(1.5),
            "inferenceConfig.topP",
            Rule::OutOfRange,
        ),
        (
            "/inferenceConfig/stopSequences/0",
            json!(" "),
            "inferenceConfig.stopSequences.0",
            Rule::Empty,
        ),
        (
            "/additionalModelResponseFieldPaths/0",
            json!("stop_sequence"),
            "additionalModelResponseFieldPaths.0",
            Rule::Form,
        ),
        (
            "/additionalModelResponseFieldPaths",
            json!(vec!["/a"; 11]),
            "additionalModelResponseFieldPaths",
            Rule::TooMany,
        ),
        (
            "/serviceTier/type",
            json!("auto"),
            "serviceTier.type",
            Rule::WrongValue,
        ),
        (
            "/outputConfig/effort",
            json!("minimal"),
            "outputConfig.effort",
            Rule::WrongValue,
        ),
        (
            "/outputConfig/textFormat/structure/jsonSchema/schema",
            json!({}),
            "outputConfig.textFormat.structure.jsonSchema.schema",
            Rule::WrongType,
        ),
        (
            "/additionalModelRequestFields/tool_choice/type",
            json!("auto"),
            "additionalModelRequestFields.tool_choice",
            Rule::Conflict,
        ),
        ("/system/0/text", json!(""), "system.0.text", Rule::Empty),
        (
            "/messages/0/content/0/text",
            json!("\n"),
            "messages.0.content.0.text",
            Rule::Empty,
        ),
        (
            "/messages/0/content/1/cachePoint/ttl",
            json!("2h"),
            "messages.0.content.1.cachePoint.ttl",
            Rule::WrongValue,
        ),
        (
            "/messages/0/content/2/image/format",
            json!("bmp"),
            "messages.0.content.2.image.format",
            Rule::WrongValue,
        ),
        (
            "/messages/0/content/2/image/source/bytes",
            json!("AAA"),
            "messages.0.content.2.image.source.bytes",
            Rule::Form,
        ),
        (
            "/messages/0/content/3/document/name",
            json!("report.pdf"),
            "messages.0.content.3.document.name",
            Rule::Form,
        ),
        (
            "/messages/1/content/3/toolUse/toolUseId",
            json!("a"),
            "messages.1.content.3.toolUse.toolUseId",
            Rule::Repeated,
        ),
        (
            "/messages/1/content/2/toolUse/name",
            json!("the clock"),
            "messages.1.content.2.toolUse.name",
            Rule::Form,
        ),
        (
            "/messages/1/content/2/toolUse/input",
            json!("{}"),
            "messages.1.content.2.toolUse.input",
            Rule::WrongType,
        ),
        (
            "/messages/2/content/0/toolResult/toolUseId",
            json!("c"),
            "messages.2.content.0.toolResult",
            Rule::Results,
        ),
        (
            "/messages/2/content/0/toolResult/content",
            json!([]),
            "messages.2.content.0.toolResult.content",
            Rule::Empty,
        ),
        (
            "/messages/2/content/1/toolResult/status",
            json!("failed"),
            "messages.2.content.1.toolResult.status",
            Rule::WrongValue,
        ),
        (
            "/messages/3/role",
            json!("user"),
            "messages.3.role",
            Rule::Roles,
        ),
        (
            "/toolConfig/tools",
            two_tools,
            "toolConfig.tools.1.toolSpec.name",
            Rule::Repeated,
        ),
        (
            "/toolConfig/tools/0/toolSpec/description",
            json!(""),
            "toolConfig.tools.0.toolSpec.description",
            Rule::Empty,
        ),
        (
            "/toolConfig/tools/0/toolSpec/inputSchema/json/anyOf",
            json!([]),
            "toolConfig.tools.0.toolSpec.inputSchema.json.anyOf",
            Rule::NotSupported,
        ),
        (
            "/toolConfig/toolChoice/tool/name",
            json!("watch"),
            "toolConfig.toolChoice.tool.name",
            Rule::WrongValue,
        ),
    ] {
        let mut body = sound();
        let (parent, key) = pointer.rsplit_once('/').expect("a place");
        match body.pointer_mut(parent).expect("a parent") {
            Value::Array(items) => items[key.parse::<usize>().expect("a number")] = value,
            parent => parent[key] = value,
        }
        let found = faults(&body, CLAUDE);
        assert!(
            found.contains(&(path.to_owned(), rule)),
            "{pointer}: {found:?}"
        );
    }
}

#[test]
fn calls_need_tools_and_their_results() {
    let mut body = sound();
    body.as_object_mut()
        .expect("an object")
        .shift_remove("toolConfig");
    assert_eq!(
        faults(&body, CLAUDE),
        [("toolConfig".to_owned(), Rule::ToolConfig)]
    );
    let mut body = sound();
    body["messages"]
        .as_array_mut()
        .expect("messages")
        .truncate(2);
    assert!(faults(&body, CLAUDE).contains(&("messages".to_owned(), Rule::Results)));
}

/// What Claude takes, and a model of which nothing is known does not.
#[test]
fn fields_are_for_models() {
    let found = faults(&sound(), LLAMA);
    for path in [
        "additionalModelRequestFields.tool_choice",
        "additionalModelRequestFields.top_k",
        "messages.0.content.1.cachePoint",
        "messages.0.content.3.document.citations",
        "messages.0.content.3.document.context",
        "messages.2.content.1.toolResult.status",
        "messages.3.role",
        "toolConfig.toolChoice",
    ] {
        let fault = (path.to_owned(), Rule::NotSupported);
        assert!(found.contains(&fault), "{path}: {found:?}");
    }
}

#[test]
fn no_more_than_four_cache_points() {
    let mut body = sound();
    let content = body.pointer_mut("/messages/0/content").expect("a content");
    let content = content.as_array_mut().expect("blocks");
    content.extend(vec![json!({ "cachePoint": { "type": "default" } }); 4]);
    assert_eq!(
        faults(&body, CLAUDE),
        [("messages".to_owned(), Rule::TooMany)]
    );
}
