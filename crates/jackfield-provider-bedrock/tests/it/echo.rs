//! What Bedrock's requests say, read back from the wire by the service model of `botocore` 1.44.8.

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
    let system = list(&body["system"]).iter().map(|part| text(&part["text"]));
    let mut echo = Echo {
        choice: choice(body),
        settings: settings(body),
        system: system.collect::<Vec<_>>().join("\n\n"),
        ..Echo::default()
    };
    for message in list(&body["messages"]) {
        let role = match message["role"].as_str().unwrap() {
            "assistant" => Role::Assistant,
            "system" => Role::System,
            _ => Role::User,
        };
        for block in list(&message["content"]) {
            read_block(block, role, &mut echo);
        }
    }
    for tool in list(&body["toolConfig"]["tools"]) {
        let spec = &tool["toolSpec"];
        echo.tools.push(EchoedTool {
            description: text(&spec["description"]),
            name: text(&spec["name"]),
            schema: Some(spec["inputSchema"]["json"].clone()),
            strict: spec["strict"].as_bool(),
        });
    }
    echo
}

fn read_block(block: &Value, role: Role, echo: &mut Echo) {
    let (kind, value) = block.as_object().unwrap().iter().next().unwrap();
    match kind.as_str() {
        "text" => echo.say(role, text(value)),
        "reasoningContent" => {
            let shown = &value["reasoningText"];
            echo.parts.push(EchoedPart::Reasoning(EchoedReasoning {
                state: shown["signature"].as_str().map(str::to_owned),
                text: shown["text"].as_str().map(str::to_owned),
            }));
        }
        "toolUse" => echo.parts.push(EchoedPart::Call(EchoedCall {
            arguments: value["input"].to_string(),
            id: text(&value["toolUseId"]),
            name: text(&value["name"]),
            state: None,
        })),
        "toolResult" => {
            let texts = list(&value["content"]).iter();
            let texts: Vec<String> = texts.map(|part| text(&part["text"])).collect();
            echo.parts.push(EchoedPart::Outcome(EchoedOutcome {
                id: text(&value["toolUseId"]),
                is_error: value["status"] == "error",
                text: texts.join("\n"),
                tool: None,
            }));
        }
        _ => {}
    }
}

pub(crate) fn choice(body: &Value) -> ToolChoice {
    let choice = &body["toolConfig"]["toolChoice"];
    if choice.get("any").is_some() {
        return ToolChoice::Required;
    }
    match choice["tool"]["name"].as_str() {
        Some(name) => ToolChoice::Named(ToolName::parse(name).unwrap()),
        None => ToolChoice::Auto,
    }
}

pub(crate) fn settings(body: &Value) -> Settings {
    let inference = &body["inferenceConfig"];
    let own = &body["additionalModelRequestFields"];
    let count = |field: &Value| field.as_u64()?.try_into().ok();
    let thinking = &own["thinking"];
    let schema = &body["outputConfig"]["textFormat"]["structure"]["jsonSchema"];
    Settings {
        effort: body["outputConfig"]["effort"]
            .as_str()
            .map(|level| match level {
                "low" => Effort::Low,
                "medium" => Effort::Medium,
                "high" => Effort::High,
                "xhigh" => Effort::ExtraHigh,
                _ => Effort::Max,
            }),
        max_output_tokens: count(&inference["maxTokens"]),
        parallel_calls: own["tool_choice"]["disable_parallel_tool_use"]
            .as_bool()
            .map(|is_off| !is_off),
        response_format: match schema["schema"].as_str() {
            None => ResponseFormat::Text,
            Some(text) => ResponseFormat::JsonSchema {
                description: schema["description"].as_str().map(Arc::from),
                name: schema["name"].as_str().unwrap_or("response").into(),
                schema: Arc::new(serde_json::from_str(text).unwrap()),
                strict: None,
            },
        },
        service_tier: body["serviceTier"]["type"].as_str().map(Arc::from),
        stop: list(&inference["stopSequences"])
            .iter()
            .map(|stop| text(stop).into())
            .collect(),
        temperature: inference["temperature"].as_f64(),
        thinking: match thinking["type"].as_str() {
            None => None,
            Some("adaptive") => Some(ThinkingMode::Adaptive),
            Some("disabled") => Some(ThinkingMode::Off),
            Some(_) => count(&thinking["budget_tokens"]).map(ThinkingMode::Budget),
        },
        thinking_shown: thinking["display"]
            .as_str()
            .map(|display| display != "omitted"),
        top_k: count(&own["top_k"]),
        top_p: inference["topP"].as_f64(),
        ..Settings::default()
    }
}

pub(crate) fn list(json: &Value) -> &[Value] {
    json.as_array().map_or(&[], Vec::as_slice)
}

pub(crate) fn text(json: &Value) -> String {
    json.as_str().unwrap_or_default().to_owned()
}
