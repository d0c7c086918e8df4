//! What Ollama's requests say, read back from the wire by `api/types.go` (2026-08-21).

use std::sync::Arc;

use jackfield_domain::message::Role;
use jackfield_domain::settings::{Effort, ResponseFormat, Settings, ThinkingMode};
use jackfield_testkit::contract::chat_model::{
    Echo, EchoedCall, EchoedOutcome, EchoedPart, EchoedReasoning, EchoedTool,
};
use serde_json::Value;

pub(crate) fn read(body: &Value) -> Echo {
    let mut echo = Echo {
        settings: settings(body),
        ..Echo::default()
    };
    for (nth, message) in list(&body["messages"]).iter().enumerate() {
        let said = text(&message["content"]);
        match message["role"].as_str().unwrap() {
            "assistant" => assistant(message, said, &mut echo),
            "system" if nth == 0 => echo.system = said,
            "system" => echo.say(Role::System, said),
            "tool" => echo.parts.push(EchoedPart::Outcome(EchoedOutcome {
                id: text(&message["tool_call_id"]),
                text: said,
                tool: message["tool_name"].as_str().map(str::to_owned),
                ..EchoedOutcome::default()
            })),
            _ => echo.say(Role::User, said),
        }
    }
    for tool in list(&body["tools"]) {
        let function = &tool["function"];
        echo.tools.push(EchoedTool {
            description: text(&function["description"]),
            name: text(&function["name"]),
            schema: Some(function["parameters"].clone()),
            strict: None,
        });
    }
    echo
}

/// The parts of a message in the order in which a model reads its fields.
fn assistant(message: &Value, said: String, echo: &mut Echo) {
    if let Some(words) = message["thinking"].as_str() {
        echo.parts.push(EchoedPart::Reasoning(EchoedReasoning {
            state: None,
            text: Some(words.to_owned()),
        }));
    }
    echo.say(Role::Assistant, said);
    for call in list(&message["tool_calls"]) {
        echo.parts.push(EchoedPart::Call(EchoedCall {
            arguments: call["function"]["arguments"].to_string(),
            id: text(&call["id"]),
            name: text(&call["function"]["name"]),
            state: None,
        }));
    }
}

pub(crate) fn settings(body: &Value) -> Settings {
    let options = &body["options"];
    let count = |field: &Value| field.as_u64()?.try_into().ok();
    Settings {
        effort: body["think"].as_str().map(|level| match level {
            "low" => Effort::Low,
            "medium" => Effort::Medium,
            "high" => Effort::High,
            _ => Effort::Max,
        }),
        frequency_penalty: options["frequency_penalty"].as_f64(),
        max_output_tokens: count(&options["num_predict"]),
        presence_penalty: options["presence_penalty"].as_f64(),
        response_format: match &body["format"] {
            Value::Null => ResponseFormat::Text,
            Value::String(_) => ResponseFormat::JsonObject,
            schema => ResponseFormat::JsonSchema {
                description: None,
                name: "response".into(),
                schema: Arc::new(schema.clone()),
                strict: None,
            },
        },
        seed: options["seed"].as_i64(),
        stop: list(&options["stop"])
            .iter()
            .map(|stop| text(stop).into())
            .collect(),
        temperature: options["temperature"].as_f64(),
        thinking: (body["think"] == false).then_some(ThinkingMode::Off),
        top_k: count(&options["top_k"]),
        top_p: options["top_p"].as_f64(),
        ..Settings::default()
    }
}

pub(crate) fn list(json: &Value) -> &[Value] {
    json.as_array().map_or(&[], Vec::as_slice)
}

pub(crate) fn text(json: &Value) -> String {
    json.as_str().unwrap_or_default().to_owned()
}
