//! Chat Completions: tools, and the choice among them.

use jackfield_dialect_openai::profile::{Profile, ToolChoiceForms};
use jackfield_dialect_rules::openai::chat::{Rule, check};
use serde_json::{Value, json};

use super::Try;

/// The vendor's example of a function, and a custom tool.
fn body() -> Value {
    json!({
        "model": "gpt-6-astra",
        "messages": [{ "role": "user", "content": "What is the weather in Oslo?" }],
        "reasoning_effort": "none",
        "tools": [
            { "type": "function", "function": {
                "name": "get_weather",
                "description": "Tells the weather.",
                "parameters": {
                    "type": "object",
                    "properties": { "location": { "type": "string" }, "unit": { "type": ["string", "null"], "enum": ["c", "f", null] } },
                    "required": ["location", "unit"],
                    "additionalProperties": false,
                },
                "strict": true,
            } },
            { "type": "custom", "custom": { "name": "run", "format": { "type": "grammar", "grammar": { "syntax": "lark", "definition": "start: /a/" } } } },
        ],
        "parallel_tool_calls": false,
        "tool_choice": "auto",
    })
}

fn of() -> Try {
    Try::new(check, Profile::OPENAI, body())
}

const FUNCTION: &str = "/tools/0/function";
const SCHEMA: &str = "tools.0.function.parameters";

#[test]
fn a_tool_is_a_function_or_takes_free_text() {
    let of = of();
    of.takes(FUNCTION, json!({ "name": "get_weather" }));
    of.takes(
        "/tools/1/custom",
        json!({ "name": "run", "format": { "type": "text" } }),
    );
    of.breaks(
        "/tools/0/type",
        json!("web_search"),
        "tools.0.type",
        Rule::WrongValue,
    );
    of.needs(FUNCTION, "tools.0.function", Rule::Missing);
    of.needs(
        "/tools/0/function/name",
        "tools.0.function.name",
        Rule::Missing,
    );
    for name in ["", "a.b", "a b", &"a".repeat(65)] {
        of.breaks(
            "/tools/0/function/name",
            json!(name),
            "tools.0.function.name",
            Rule::Name,
        );
    }
    of.breaks(
        "/tools/0/name",
        json!("x"),
        "tools.0.name",
        Rule::UnknownField,
    );
    of.breaks(
        "/tools/0/function/input_schema",
        json!({}),
        "tools.0.function.input_schema",
        Rule::UnknownField,
    );
    of.breaks(
        "/tools/0/function/strict",
        json!("yes"),
        "tools.0.function.strict",
        Rule::WrongType,
    );
    of.breaks(
        "/tools/1/custom/parameters",
        json!({}),
        "tools.1.custom.parameters",
        Rule::UnknownField,
    );
    let format = "/tools/1/custom/format";
    of.breaks(
        format,
        json!({ "type": "yaml" }),
        "tools.1.custom.format.type",
        Rule::WrongValue,
    );
    of.breaks(
        format,
        json!({ "type": "grammar" }),
        "tools.1.custom.format.grammar",
        Rule::Missing,
    );
    of.breaks(
        "/tools/1/custom/format/grammar/syntax",
        json!("ebnf"),
        "tools.1.custom.format.grammar.syntax",
        Rule::WrongValue,
    );
}

#[test]
fn there_are_some_tools_and_each_has_its_own_name() {
    let of = of();
    let tool = |n: usize| json!({ "type": "function", "function": { "name": format!("t{n}") } });
    of.takes("/tools", (0..128).map(tool).collect());
    of.breaks(
        "/tools",
        (0..129).map(tool).collect(),
        "tools",
        Rule::TooMany,
    );
    of.breaks(
        "/tools/-",
        json!({ "type": "function", "function": { "name": "run" } }),
        "tools.2",
        Rule::Repeated,
    );
    let mut alone = body();
    alone["tool_choice"] = json!(null);
    alone["parallel_tool_calls"] = json!(null);
    let of = Try::new(check, Profile::OPENAI, alone);
    of.breaks("/tools", json!([]), "tools", Rule::Empty);
}

#[test]
fn what_is_about_tools_stands_with_tools_alone() {
    let body = json!({ "model": "m", "messages": [{ "role": "user", "content": "hi" }] });
    let of = Try::new(check, Profile::OPENAI, body);
    for (key, value) in [
        ("tool_choice", json!("auto")),
        ("parallel_tool_calls", json!(true)),
    ] {
        of.breaks(&format!("/{key}"), value, key, Rule::ToolsMissing);
    }
}

#[test]
fn parameters_are_an_objects_schema() {
    let mut loose = body();
    loose["tools"][0]["function"]["strict"] = json!(false);
    let of = Try::new(check, Profile::OPENAI, loose);
    let at = "/tools/0/function/parameters";
    of.takes(at, json!({ "type": "object", "properties": { "a": { "oneOf": [{ "type": "array", "items": {} }] } } }));
    of.breaks(
        at,
        json!({ "type": "object" }),
        &format!("{SCHEMA}.properties"),
        Rule::SchemaRoot,
    );
    of.breaks(
        at,
        json!({ "properties": {} }),
        &format!("{SCHEMA}.type"),
        Rule::SchemaRoot,
    );
    for key in ["allOf", "anyOf", "enum", "not", "oneOf"] {
        let pointer = format!("{at}/{key}");
        of.breaks(
            &pointer,
            json!([]),
            &format!("{SCHEMA}.{key}"),
            Rule::SchemaRoot,
        );
    }
    for list in [
        json!({ "type": "array" }),
        json!({ "type": ["array", "null"] }),
    ] {
        let path = format!("{SCHEMA}.properties.location.items");
        of.breaks(
            &format!("{at}/properties/location"),
            list,
            &path,
            Rule::SchemaRoot,
        );
    }
    let deep = json!({ "anyOf": [{ "type": "array", "items": { "type": "array" } }] });
    let path = format!("{SCHEMA}.properties.location.anyOf.0.items.items");
    of.breaks(
        &format!("{at}/properties/location"),
        deep,
        &path,
        Rule::SchemaRoot,
    );
}

#[test]
fn a_strict_schema_is_within_the_subset() {
    let of = of();
    let schema = "/tools/0/function/parameters";
    let location = format!("{schema}/properties/location");
    let path = format!("{SCHEMA}.properties.location");
    for sound in [
        json!({ "type": "string", "pattern": "^a", "format": "uuid", "title": "t" }),
        json!({ "anyOf": [{ "type": "string", "const": "a" }, { "$ref": "#" }], "description": "d" }),
        json!({ "type": "array", "items": { "type": "number", "minimum": 0 }, "maxItems": 3 }),
        json!({ "type": "object", "properties": {}, "required": [], "additionalProperties": false }),
    ] {
        of.takes(&location, sound);
    }
    for (wrong, below) in [
        (json!({ "type": "string", "minLength": 1 }), ".minLength"),
        (json!({ "type": "string", "format": "uri" }), ".format"),
        (json!({ "type": "any" }), ".type"),
        (json!({ "enum": ["a"] }), ".type"),
        (json!({}), ".type"),
        (json!({ "type": "string", "enum": [] }), ".enum"),
        (
            json!({ "type": "number", "exclusiveMinimum": true }),
            ".exclusiveMinimum",
        ),
        (json!({ "type": "string", "allOf": [] }), ".allOf"),
        (json!({ "$ref": "#", "description": "d" }), ""),
        (json!({ "anyOf": [{}] }), ".anyOf.0.type"),
        (json!(true), ""),
        (
            json!({ "type": "object", "properties": {}, "required": [] }),
            ".additionalProperties",
        ),
        (
            json!({ "type": "object", "required": [], "additionalProperties": false }),
            ".properties",
        ),
        (
            json!({ "type": "object", "properties": { "a": { "type": "null" } }, "additionalProperties": false }),
            ".required",
        ),
    ] {
        of.breaks(
            &location,
            wrong,
            &format!("{path}{below}"),
            Rule::SchemaSubset,
        );
    }
    let path = format!("{SCHEMA}.required");
    of.breaks(
        &format!("{schema}/required"),
        json!(["location"]),
        &path,
        Rule::SchemaSubset,
    );
    of.breaks(
        &format!("{schema}/required"),
        json!(["location", "place"]),
        &path,
        Rule::SchemaSubset,
    );
}

#[test]
fn a_choice_is_among_the_tools() {
    let of = of();
    let at = "/tool_choice";
    let named = |name: &str| json!({ "type": "function", "function": { "name": name } });
    let allowed = |tools: Value| json!({ "type": "allowed_tools", "allowed_tools": { "mode": "auto", "tools": tools } });
    for sound in [
        json!("none"),
        json!("required"),
        named("get_weather"),
        json!({ "type": "custom", "custom": { "name": "run" } }),
        allowed(json!([named("get_weather")])),
    ] {
        of.takes(at, sound);
    }
    of.breaks(at, json!("any"), "tool_choice", Rule::WrongValue);
    of.breaks(
        at,
        json!({ "type": "tool", "name": "run" }),
        "tool_choice",
        Rule::WrongValue,
    );
    of.breaks(
        at,
        named("get_time"),
        "tool_choice.function.name",
        Rule::WrongValue,
    );
    let path = "tool_choice.allowed_tools.tools";
    of.breaks(at, allowed(json!([])), path, Rule::Empty);
    of.breaks(
        at,
        allowed(json!([named("get_time")])),
        &format!("{path}.0"),
        Rule::WrongValue,
    );
    let mut mode = allowed(json!([named("run")]));
    mode["allowed_tools"]["mode"] = json!("any");
    of.breaks(at, mode, "tool_choice.allowed_tools.mode", Rule::WrongValue);
}

#[test]
fn models_that_reason_take_tools_without_effort_alone() {
    let of = of();
    of.breaks(
        "/reasoning_effort",
        json!("low"),
        "reasoning_effort",
        Rule::ToolsWithEffort,
    );
    of.needs(
        "/reasoning_effort",
        "reasoning_effort",
        Rule::ToolsWithEffort,
    );
    of.with(|p| p.tools_without_effort = false)
        .takes("/reasoning_effort", json!("low"));
}

#[test]
fn what_a_server_does_not_take_is_in_its_profile() {
    let of = of();
    let of_subset = json!({ "type": "allowed_tools", "allowed_tools": { "mode": "auto", "tools": [{ "type": "custom", "custom": { "name": "run" } }] } });
    let of_name = json!({ "type": "custom", "custom": { "name": "run" } });
    let words = of.with(|p| p.tool_choice = ToolChoiceForms::Words);
    words.breaks(
        "/tool_choice",
        of_name.clone(),
        "tool_choice",
        Rule::NotTaken,
    );
    let named = of.with(|p| p.tool_choice = ToolChoiceForms::Named);
    named.takes("/tool_choice", of_name);
    named.breaks("/tool_choice", of_subset, "tool_choice", Rule::NotTaken);
    let told = |change: fn(&mut Profile)| {
        let mut profile = Profile::OPENAI;
        change(&mut profile);
        let told = check(&body(), &profile).into_iter();
        told.map(|v| (v.path, v.rule)).collect::<Vec<_>>()
    };
    let not_taken = |path: &str| vec![(path.to_owned(), Rule::NotTaken)];
    assert_eq!(
        told(|p| p.tool_choice = ToolChoiceForms::Ignored),
        not_taken("tool_choice")
    );
    assert_eq!(told(|p| p.custom_tools = false), not_taken("tools.1"));
    assert_eq!(
        told(|p| p.parallel_calls = false),
        not_taken("parallel_tool_calls")
    );
    assert_eq!(
        told(|p| p.strict_tools = false),
        not_taken("tools.0.function.strict")
    );
}
