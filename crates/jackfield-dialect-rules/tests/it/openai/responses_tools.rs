//! Responses: tools, and the choice among them.

use jackfield_dialect_openai::profile::{Profile, ToolChoiceForms};
use jackfield_dialect_rules::openai::responses::{Rule, check};
use serde_json::{Value, json};

use super::Try;

fn body() -> Value {
    json!({
        "model": "gpt-6-astra",
        "input": "What is the weather in Oslo?",
        "reasoning": { "effort": "high" },
        "tools": [
            { "type": "function", "name": "get_weather", "description": "Tells the weather.", "strict": true, "parameters": {
                "type": "object",
                "properties": { "location": { "type": "string" } },
                "required": ["location"],
                "additionalProperties": false,
            } },
            { "type": "custom", "name": "run", "format": { "type": "grammar", "syntax": "regex", "definition": "a+" } },
            { "type": "web_search" },
            { "type": "mcp", "server_label": "docs", "server_url": "https://x.example/mcp" },
        ],
        "tool_choice": "auto",
        "parallel_tool_calls": true,
    })
}

fn of() -> Try {
    Try::new(check, Profile::OPENAI, body())
}

#[test]
fn a_function_is_flat_and_says_whether_it_is_strict() {
    let of = of();
    for key in ["name", "parameters", "strict"] {
        of.needs(
            &format!("/tools/0/{key}"),
            &format!("tools.0.{key}"),
            Rule::Missing,
        );
    }
    let without = json!({ "type": "function", "name": "now", "parameters": null, "strict": null });
    of.takes("/tools/0", without);
    let nested = json!({ "name": "now" });
    of.breaks(
        "/tools/0/function",
        nested,
        "tools.0.function",
        Rule::UnknownField,
    );
    of.takes("/tools/0/name", json!("a".repeat(128)));
    for name in ["", "a.b", &"a".repeat(129)] {
        of.breaks("/tools/0/name", json!(name), "tools.0.name", Rule::Name);
    }
    let open = json!({ "type": "object", "properties": {}, "required": [] });
    of.breaks(
        "/tools/0/parameters",
        open,
        "tools.0.parameters.additionalProperties",
        Rule::SchemaSubset,
    );
    let mut loose = body();
    loose["tools"][0]["strict"] = json!(false);
    let of = Try::new(check, Profile::OPENAI, loose);
    of.breaks(
        "/tools/0/parameters",
        json!({ "type": "object" }),
        "tools.0.parameters.properties",
        Rule::SchemaRoot,
    );
}

#[test]
fn other_tools_are_of_known_types() {
    let of = of();
    of.takes("/tools/1/format", json!({ "type": "text" }));
    of.breaks(
        "/tools/1/format",
        json!({ "type": "yaml" }),
        "tools.1.format.type",
        Rule::WrongValue,
    );
    of.breaks(
        "/tools/1/format",
        json!({ "type": "grammar", "syntax": "lark" }),
        "tools.1.format.definition",
        Rule::Missing,
    );
    of.breaks(
        "/tools/1/input_schema",
        json!({}),
        "tools.1.input_schema",
        Rule::UnknownField,
    );
    of.breaks(
        "/tools/2/type",
        json!("bash"),
        "tools.2.type",
        Rule::WrongValue,
    );
    let inner = json!({ "type": "namespace", "name": "crm", "description": "d", "tools": [{ "type": "function", "name": "a b", "parameters": null, "strict": false }] });
    of.breaks("/tools/2", inner, "tools.2.tools.0.name", Rule::Name);
    let again = json!({ "type": "custom", "name": "get_weather" });
    of.breaks("/tools/-", again, "tools.4", Rule::Repeated);
}

#[test]
fn a_choice_is_among_the_tools() {
    let of = of();
    let at = "/tool_choice";
    let allowed =
        |tools: Value| json!({ "type": "allowed_tools", "mode": "required", "tools": tools });
    for sound in [
        json!("required"),
        json!({ "type": "function", "name": "get_weather" }),
        json!({ "type": "custom", "name": "run" }),
        json!({ "type": "mcp", "server_label": "docs" }),
        json!({ "type": "web_search_preview" }),
        allowed(
            json!([{ "type": "function", "name": "get_weather" }, { "type": "web_search" }, { "type": "mcp", "server_label": "docs" }]),
        ),
    ] {
        of.takes(at, sound);
    }
    let path = "tool_choice";
    of.breaks(at, json!("any"), path, Rule::WrongValue);
    of.breaks(
        at,
        json!({ "type": "function", "name": "get_time" }),
        "tool_choice.name",
        Rule::WrongValue,
    );
    of.breaks(
        at,
        json!({ "type": "function", "function": { "name": "run" }, "name": "run" }),
        "tool_choice.function",
        Rule::UnknownField,
    );
    of.breaks(
        at,
        json!({ "type": "tool" }),
        "tool_choice.type",
        Rule::WrongValue,
    );
    of.breaks(at, allowed(json!([])), "tool_choice.tools", Rule::Empty);
    of.breaks(
        at,
        allowed(json!([{ "type": "function", "name": "x" }])),
        "tool_choice.tools.0",
        Rule::WrongValue,
    );
    let alone = json!({ "model": "m", "input": "hi" });
    let of = Try::new(check, Profile::OPENAI, alone);
    of.takes(at, json!("none"));
    of.breaks(at, json!("required"), path, Rule::ToolsMissing);
}

#[test]
fn what_a_server_does_not_take_is_in_its_profile() {
    let told = |choice: &Value, change: fn(&mut Profile)| {
        let (mut profile, mut body) = (Profile::OPENAI, body());
        change(&mut profile);
        body["tool_choice"] = choice.clone();
        let told = check(&body, &profile).into_iter();
        told.map(|v| (v.path, v.rule)).collect::<Vec<_>>()
    };
    let not_taken = |path: &str| vec![(path.to_owned(), Rule::NotTaken)];
    let (word, named) = (
        json!("required"),
        json!({ "type": "custom", "name": "run" }),
    );
    let subset = json!({ "type": "allowed_tools", "mode": "auto", "tools": [named] });
    assert_eq!(
        told(&word, |p| p.tool_choice = ToolChoiceForms::Ignored),
        not_taken("tool_choice")
    );
    assert_eq!(
        told(&named, |p| p.tool_choice = ToolChoiceForms::Words),
        not_taken("tool_choice")
    );
    assert_eq!(
        told(&subset, |p| p.tool_choice = ToolChoiceForms::Named),
        not_taken("tool_choice")
    );
    assert_eq!(told(&subset, |_| {}), []);
    assert_eq!(
        told(&word, |p| p.custom_tools = false),
        not_taken("tools.1")
    );
    assert_eq!(
        told(&word, |p| p.parallel_calls = false),
        not_taken("parallel_tool_calls")
    );
    assert_eq!(
        told(&word, |p| p.strict_tools = false),
        not_taken("tools.0.strict")
    );
}
