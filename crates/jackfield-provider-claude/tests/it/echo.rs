//! What Claude's requests say, read back from the wire by the documentation of 2026-10-21.

use std::sync::Arc;

use jackfield_domain::ids::ToolName;
use jackfield_domain::message::Role;
use jackfield_domain::settings::{Effort, ResponseFormat, Settings, ThinkingMode};
use jackfield_domain::tool::ToolChoice;
use jackfield_testkit::contract::chat_model::{
    Echo, EchoedCall, EchoedOutcome, EchoedPart, EchoedReasoning, EchoedTool,
};
use serde_json::Value;

pub(crate) fn read(body: &Value) -> Echo {
    let mut echo = Echo {
        choice: choice(&body["tool_choice"]),
        settings: settings(body),
        system: words(&body["system"]),
        ..Echo::default()
    };
    for message in list(&body["messages"]) {
        let role = match message["role"].as_str().unwrap() {
            "assistant" => Role::Assistant,
            "system" => Role::System,
            _ => Role::User,
        };
        for block in list(&message["content"]) {
            part(role, block, &mut echo);
        }
    }
    for tool in list(&body["tools"]) {
        echo.tools.push(EchoedTool {
            description: text(&tool["description"]),
            name: text(&tool["name"]),
            schema: Some(tool["input_schema"].clone()),
            strict: tool["strict"].as_bool(),
        });
    }
    echo
}

fn part(role: Role, block: &Value, echo: &mut Echo) {
    match block["type"].as_str().unwrap() {
        "text" => echo.say(role, text(&block["text"])),
        "thinking" => echo.parts.push(EchoedPart::Reasoning(EchoedReasoning {
            state: Some(text(&block["signature"])),
            text: Some(text(&block["thinking"])),
        })),
        "tool_result" => echo.parts.push(EchoedPart::Outcome(EchoedOutcome {
            id: text(&block["tool_use_id"]),
            is_error: block["is_error"] == true,
            text: words(&block["content"]),
            tool: None,
        })),
        "tool_use" => echo.parts.push(EchoedPart::Call(EchoedCall {
            arguments: block["input"].to_string(),
            id: text(&block["id"]),
            name: text(&block["name"]),
            state: block["caller"]["tool_id"].as_str().map(str::to_owned),
        })),
        // Media, which the contract finds by their data.
        _ => {}
    }
}

fn choice(choice: &Value) -> ToolChoice {
    match choice["type"].as_str() {
        Some("any") => ToolChoice::Required,
        Some("none") => ToolChoice::Forbidden,
        Some("tool") => ToolChoice::Named(ToolName::parse(&text(&choice["name"])).unwrap()),
        _ => ToolChoice::Auto,
    }
}

fn settings(body: &Value) -> Settings {
    let count = |field: &Value| field.as_u64().map(|count| count.try_into().unwrap());
    let config = &body["output_config"];
    let one_call = body["tool_choice"]["disable_parallel_tool_use"].as_bool();
    Settings {
        effort: config["effort"].as_str().map(|effort| match effort {
            "low" => Effort::Low,
            "medium" => Effort::Medium,
            "high" => Effort::High,
            "xhigh" => Effort::ExtraHigh,
            _ => Effort::Max,
        }),
        end_user: body["metadata"]["user_id"].as_str().map(Into::into),
        max_output_tokens: count(&body["max_tokens"]),
        parallel_calls: one_call.map(|one| !one),
        response_format: match &config["format"] {
            Value::Null => ResponseFormat::Text,
            format => ResponseFormat::JsonSchema {
                description: None,
                name: "".into(),
                schema: Arc::new(format["schema"].clone()),
                strict: None,
            },
        },
        service_tier: body["service_tier"].as_str().map(Into::into),
        stop: list(&body["stop_sequences"])
            .iter()
            .map(|stop| text(stop).into())
            .collect(),
        temperature: body["temperature"].as_f64(),
        thinking: body["thinking"]["type"].as_str().map(|kind| match kind {
            "adaptive" => ThinkingMode::Adaptive,
            "disabled" => ThinkingMode::Off,
            _ => ThinkingMode::Budget(count(&body["thinking"]["budget_tokens"]).unwrap()),
        }),
        thinking_shown: body["thinking"]["display"]
            .as_str()
            .map(|display| display == "summarized"),
        top_k: count(&body["top_k"]),
        top_p: body["top_p"].as_f64(),
        ..Settings::default()
    }
}

/// The words of a text, or of a list of parts.
fn words(json: &Value) -> String {
    let parts = list(json).iter().map(|part| text(&part["text"]));
    text(json) + &parts.collect::<String>()
}

fn list(json: &Value) -> &[Value] {
    json.as_array().map_or(&[], Vec::as_slice)
}

fn text(json: &Value) -> String {
    json.as_str().unwrap_or_default().to_owned()
}
