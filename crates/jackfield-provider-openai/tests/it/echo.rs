//! What the requests of both languages have in common, read back from the wire.

use std::sync::Arc;

use jackfield_domain::ids::ToolName;
use jackfield_domain::settings::{Effort, ResponseFormat, Settings, Verbosity};
use jackfield_domain::tool::ToolChoice;
use serde_json::Value;

/// The settings whose fields have the same names in both languages.
pub(crate) fn settings(body: &Value) -> Settings {
    let user = &body["safety_identifier"];
    Settings {
        end_user: user
            .as_str()
            .or_else(|| body["user"].as_str())
            .map(Into::into),
        parallel_calls: body["parallel_tool_calls"].as_bool(),
        service_tier: body["service_tier"].as_str().map(Into::into),
        temperature: body["temperature"].as_f64(),
        top_k: count(&body["top_k"]),
        top_p: body["top_p"].as_f64(),
        ..Settings::default()
    }
}

pub(crate) fn choice(word: Option<&str>, tools: Option<&Value>) -> ToolChoice {
    match (word, tools) {
        (Some("none"), None) => ToolChoice::Forbidden,
        (Some("required"), None) => ToolChoice::Required,
        (mode, Some(tools)) => ToolChoice::Only {
            required: mode == Some("required"),
            tools: list(tools).iter().map(name).collect(),
        },
        _ => ToolChoice::Auto,
    }
}

/// The name of a tool, in its own object or beside its type.
pub(crate) fn name(tool: &Value) -> ToolName {
    let named = [&tool["function"]["name"], &tool["name"]];
    let name = named.iter().find_map(|name| name.as_str());
    ToolName::parse(name.unwrap()).unwrap()
}

/// A response format, whose schema stands in this object.
pub(crate) fn format(format: &Value, schema: &Value) -> ResponseFormat {
    match format["type"].as_str() {
        Some("json_object") => ResponseFormat::JsonObject,
        Some("json_schema") => ResponseFormat::JsonSchema {
            description: schema["description"].as_str().map(Into::into),
            name: text(&schema["name"]).into(),
            schema: Arc::new(schema["schema"].clone()),
            strict: schema["strict"].as_bool(),
        },
        _ => ResponseFormat::Text,
    }
}

pub(crate) fn effort(word: &Value) -> Option<Effort> {
    Some(match word.as_str()? {
        "none" => Effort::None,
        "minimal" => Effort::Minimal,
        "low" => Effort::Low,
        "medium" => Effort::Medium,
        "high" => Effort::High,
        "xhigh" => Effort::ExtraHigh,
        _ => Effort::Max,
    })
}

pub(crate) fn verbosity(word: &Value) -> Option<Verbosity> {
    Some(match word.as_str()? {
        "low" => Verbosity::Low,
        "medium" => Verbosity::Medium,
        _ => Verbosity::High,
    })
}

pub(crate) fn count(number: &Value) -> Option<u32> {
    number.as_u64().map(|count| count.try_into().unwrap())
}

pub(crate) fn list(json: &Value) -> &[Value] {
    json.as_array().map_or(&[], Vec::as_slice)
}

/// The text; of null it is empty.
pub(crate) fn text(json: &Value) -> String {
    json.as_str().unwrap_or_default().to_owned()
}

/// The words of a text, or of a list of parts.
pub(crate) fn words(json: &Value) -> String {
    let parts = list(json).iter();
    let words = parts.map(|part| text(&part["text"]) + &text(&part["refusal"]));
    text(json) + &words.collect::<String>()
}
