//! Every one of Gemini's rules, each with a body that breaks it and nothing else.

use jackfield_dialect_gemini::options::Profile;
use jackfield_dialect_rules::gemini::{self, Rule};
use serde_json::{Value, json};

/// A sound body with a bit of everything.
fn sound() -> Value {
    json!({
        "systemInstruction": { "parts": [{ "text": "Be brief." }] },
        "tools": [
            { "functionDeclarations": [
                { "name": "clock", "description": "Tells the time.", "parametersJsonSchema": { "type": "object", "properties": { "tz": { "type": "string" } } } },
                { "name": "_7zip" },
            ] },
            { "googleSearch": {} },
        ],
        "toolConfig": { "functionCallingConfig": { "mode": "ANY", "allowedFunctionNames": ["clock"] } },
        "contents": [
            { "role": "user", "parts": [
                { "inlineData": { "mimeType": "image/png", "data": "AAAA" } },
                { "fileData": { "mimeType": "application/pdf", "fileUri": "https://a.example/b.pdf" } },
                { "text": "What time is it?" },
            ] },
            { "role": "model", "parts": [
                { "text": "Hm.", "thought": true },
                { "functionCall": { "id": "a", "name": "clock", "args": {} }, "thoughtSignature": "c2ln" },
                { "functionCall": { "id": "b", "name": "clock", "args": {} } },
            ] },
            { "role": "user", "parts": [
                { "functionResponse": { "id": "a", "name": "clock", "response": { "output": "12:00" } } },
                { "functionResponse": { "id": "b", "name": "clock", "response": { "output": "" }, "parts": [{ "inlineData": { "mimeType": "image/png", "data": "AAAA" } }] } },
            ] },
        ],
        "generationConfig": {
            "temperature": 1.5,
            "stopSequences": ["END"],
            "responseMimeType": "application/json",
            "responseJsonSchema": { "type": "object", "properties": {} },
            "thinkingConfig": { "thinkingLevel": "LOW", "includeThoughts": true },
        },
        "serviceTier": "flex",
    })
}

fn faults(body: &Value, model: &str) -> Vec<(String, Rule)> {
    let found = gemini::check(body, &Profile::of(model)).into_iter();
    found.map(|broken| (broken.path, broken.rule)).collect()
}

#[test]
fn a_sound_body_breaks_no_rule() {
    assert_eq!(faults(&sound(), "gemini-3.8-flash"), []);
}

#[test]
fn each_rule_is_broken_by_one_change() {
    let call = json!({ "functionCall": { "name": "clock", "args": {} } });
    for (pointer, value, path, rule) in [
        ("/mood", json!("fine"), "mood", Rule::UnknownField),
        (
            "/systemInstruction/parts/0",
            json!({ "executableCode": {} }),
            "systemInstruction.parts.0",
            Rule::WrongValue,
        ),
        (
            "/contents/0/role",
            json!("system"),
            "contents.0.role",
            Rule::Role,
        ),
        (
            "/contents/0/parts/2",
            json!({}),
            "contents.0.parts.2",
            Rule::Data,
        ),
        (
            "/contents/0/parts/2/inlineData",
            json!({ "mimeType": "image/png", "data": "AAAA" }),
            "contents.0.parts.2",
            Rule::Data,
        ),
        (
            "/contents/0/parts/0/inlineData/mimeType",
            json!("image/gif"),
            "contents.0.parts.0.inlineData.mimeType",
            Rule::MediaType,
        ),
        (
            "/contents/0/parts/2",
            call.clone(),
            "contents.0.parts.2",
            Rule::CallOutOfPlace,
        ),
        (
            "/contents/1/parts/1/thoughtSignature",
            Value::Null,
            "contents.1.parts.1",
            Rule::Signature,
        ),
        (
            "/contents/1/parts/1/functionCall/args",
            json!([]),
            "contents.1.parts.1.functionCall.args",
            Rule::WrongType,
        ),
        (
            "/contents/2/parts/1/functionResponse/id",
            json!("c"),
            "contents.2",
            Rule::Results,
        ),
        (
            "/contents/2/parts/1",
            json!({ "text": "none" }),
            "contents.2",
            Rule::Results,
        ),
        (
            "/contents/2/parts/0/functionResponse/response",
            json!("12:00"),
            "contents.2.parts.0.functionResponse.response",
            Rule::WrongType,
        ),
        (
            "/tools/0/functionDeclarations/1/name",
            json!("7zip"),
            "tools.0.functionDeclarations.1.name",
            Rule::Name,
        ),
        (
            "/tools/0/functionDeclarations/1/name",
            json!("clock"),
            "tools.0.functionDeclarations.1.name",
            Rule::Repeated,
        ),
        (
            "/tools/0/functionDeclarations/0/parametersJsonSchema/properties/tz/const",
            json!("a"),
            "tools.0.functionDeclarations.0.parametersJsonSchema.properties.tz.const",
            Rule::SchemaSubset,
        ),
        (
            "/tools/0/functionDeclarations/0/parametersJsonSchema/properties/tz/type",
            json!("text"),
            "tools.0.functionDeclarations.0.parametersJsonSchema.properties.tz.type",
            Rule::Schema,
        ),
        (
            "/toolConfig/functionCallingConfig/mode",
            json!("AUTO"),
            "toolConfig.functionCallingConfig.allowedFunctionNames",
            Rule::FunctionNames,
        ),
        (
            "/toolConfig/functionCallingConfig/allowedFunctionNames/0",
            json!("bell"),
            "toolConfig.functionCallingConfig.allowedFunctionNames.0",
            Rule::FunctionNames,
        ),
        (
            "/generationConfig/temperature",
            json!(2.5),
            "generationConfig.temperature",
            Rule::OutOfRange,
        ),
        (
            "/generationConfig/stopSequences",
            json!(["a", "b", "c", "d", "e", "f"]),
            "generationConfig.stopSequences",
            Rule::TooMany,
        ),
        (
            "/generationConfig/stopSequences/0",
            json!(""),
            "generationConfig.stopSequences.0",
            Rule::Empty,
        ),
        (
            "/generationConfig/thinkingConfig/thinkingBudget",
            json!(1024),
            "generationConfig.thinkingConfig",
            Rule::Thinking,
        ),
        (
            "/generationConfig/responseMimeType",
            json!("text/html"),
            "generationConfig.responseMimeType",
            Rule::WrongValue,
        ),
        (
            "/serviceTier",
            json!("auto"),
            "serviceTier",
            Rule::WrongValue,
        ),
        ("/contents", json!([]), "contents", Rule::Empty),
        ("/contents", Value::Null, "contents", Rule::WrongType),
    ] {
        let mut body = sound();
        let (above, key) = pointer.rsplit_once('/').expect("a pointer");
        let place = body.pointer_mut(above).expect("a place of the sound body");
        match key.parse::<usize>() {
            Ok(nth) => place[nth] = value,
            Err(_) => place[key] = value,
        }
        let found = faults(&body, "gemini-3.8-flash");
        assert!(
            found.contains(&(path.to_owned(), rule)),
            "{pointer}: {found:?}"
        );
    }
    let mut without = sound();
    without.as_object_mut().map(|body| body.remove("contents"));
    let found = faults(&without, "gemini-3.8-flash");
    assert_eq!(found, [("contents".to_owned(), Rule::Missing)]);
}

#[test]
fn older_models_know_less() {
    let found = faults(&sound(), "gemini-2.5-flash");
    let rules: Vec<Rule> = found.iter().map(|(_, rule)| *rule).collect();
    assert_eq!(
        rules,
        [Rule::UnknownField, Rule::JsonBesideTools, Rule::Thinking]
    );
    let mut off = sound();
    off["generationConfig"] = json!({ "thinkingConfig": { "thinkingBudget": 0 } });
    for (model, breaks) in [
        ("gemini-3.8-flash", true),
        ("gemini-2.5-pro", true),
        ("gemini-2.5-flash", false),
        ("gemini-2.0-flash", true),
    ] {
        let found = faults(&off, model);
        let thinks = found.iter().any(|(_, rule)| *rule == Rule::Thinking);
        assert_eq!(thinks, breaks, "{model}");
    }
}
