//! What Gemini's requests say, read back from the wire by the types of `google-genai` 3.6.1 (2026-11).

use std::sync::Arc;

use jackfield_domain::ids::ToolName;
use jackfield_domain::message::Role;
use jackfield_domain::settings::{Effort, ResponseFormat, Settings, ThinkingMode};
use jackfield_domain::tool::ToolChoice;
use jackfield_testkit::contract::chat_model::{
    Echo, EchoedCall, EchoedOutcome, EchoedPart, EchoedReasoning, EchoedText, EchoedTool,
};
use serde_json::{Value, json};

pub(crate) fn read(body: &Value) -> Echo {
    let mut echo = Echo {
        choice: choice(&body["toolConfig"]["functionCallingConfig"]),
        settings: settings(body),
        ..Echo::default()
    };
    for part in list(&body["systemInstruction"]["parts"]) {
        echo.system.push_str(&text(&part["text"]));
    }
    for content in list(&body["contents"]) {
        let role = match content["role"].as_str().unwrap() {
            "model" => Role::Assistant,
            _ => Role::User,
        };
        for one in list(&content["parts"]) {
            part(role, one, &mut echo);
        }
    }
    for tool in list(&body["tools"]) {
        for declared in list(&tool["functionDeclarations"]) {
            let schema = &declared["parametersJsonSchema"];
            let without = json!({ "type": "object", "properties": {} });
            echo.tools.push(EchoedTool {
                description: text(&declared["description"]),
                name: text(&declared["name"]),
                schema: Some(if schema.is_null() {
                    without
                } else {
                    schema.clone()
                }),
                strict: None,
            });
        }
    }
    echo
}

fn part(role: Role, part: &Value, echo: &mut Echo) {
    let state = part["thoughtSignature"].as_str().map(str::to_owned);
    let call = &part["functionCall"];
    let response = &part["functionResponse"];
    if call.is_object() {
        echo.parts.push(EchoedPart::Call(EchoedCall {
            arguments: call["args"].to_string(),
            id: text(&call["id"]),
            name: text(&call["name"]),
            state,
        }));
    } else if response.is_object() {
        let said = &response["response"];
        let failed = said.get("error");
        echo.parts.push(EchoedPart::Outcome(EchoedOutcome {
            id: text(&response["id"]),
            is_error: failed.is_some(),
            text: words(failed.or_else(|| said.get("output")).unwrap_or(said)),
            tool: response["name"].as_str().map(str::to_owned),
        }));
    } else if part["thought"] == true {
        echo.parts.push(EchoedPart::Reasoning(EchoedReasoning {
            state,
            text: Some(text(&part["text"])),
        }));
    } else if let Some(text) = part["text"].as_str() {
        echo.parts.push(EchoedPart::Text(EchoedText {
            role,
            state,
            text: text.to_owned(),
        }));
    }
    // All else is media, which the contract finds by their data.
}

fn choice(config: &Value) -> ToolChoice {
    let names = list(&config["allowedFunctionNames"]).iter();
    let mut tools: Vec<ToolName> = names
        .map(|name| ToolName::parse(&text(name)).unwrap())
        .collect();
    match (config["mode"].as_str(), tools.len()) {
        (Some("ANY"), 0) => ToolChoice::Required,
        (Some("ANY"), 1) => ToolChoice::Named(tools.remove(0)),
        (Some(mode @ ("ANY" | "VALIDATED")), _) => ToolChoice::Only {
            required: mode == "ANY",
            tools,
        },
        (Some("NONE"), _) => ToolChoice::Forbidden,
        _ => ToolChoice::Auto,
    }
}

fn settings(body: &Value) -> Settings {
    let config = &body["generationConfig"];
    let count = |field: &Value| field.as_u64().map(|count| count.try_into().unwrap());
    let thinking = &config["thinkingConfig"];
    let is_json = config["responseMimeType"] == "application/json";
    Settings {
        effort: thinking["thinkingLevel"].as_str().map(|level| match level {
            "MINIMAL" => Effort::Minimal,
            "LOW" => Effort::Low,
            "MEDIUM" => Effort::Medium,
            "HIGH" => Effort::High,
            _ => Effort::ExtraHigh,
        }),
        frequency_penalty: config["frequencyPenalty"].as_f64(),
        max_output_tokens: count(&config["maxOutputTokens"]),
        presence_penalty: config["presencePenalty"].as_f64(),
        response_format: match &config["responseJsonSchema"] {
            Value::Null if is_json => ResponseFormat::JsonObject,
            Value::Null => ResponseFormat::Text,
            schema => ResponseFormat::JsonSchema {
                description: None,
                name: "".into(),
                schema: Arc::new(schema.clone()),
                strict: None,
            },
        },
        seed: config["seed"].as_i64(),
        service_tier: body["serviceTier"].as_str().map(Into::into),
        stop: list(&config["stopSequences"])
            .iter()
            .map(|stop| text(stop).into())
            .collect(),
        temperature: config["temperature"].as_f64(),
        thinking: thinking["thinkingBudget"]
            .as_i64()
            .map(|budget| match budget {
                -1 => ThinkingMode::Adaptive,
                0 => ThinkingMode::Off,
                budget => ThinkingMode::Budget(budget.try_into().unwrap()),
            }),
        thinking_shown: thinking["includeThoughts"].as_bool(),
        top_k: count(&config["topK"]),
        top_p: config["topP"].as_f64(),
        ..Settings::default()
    }
}

/// The words of a text, of a list of them, or of any other value.
fn words(json: &Value) -> String {
    match json {
        Value::Array(texts) => texts.iter().map(text).collect(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn list(json: &Value) -> &[Value] {
    json.as_array().map_or(&[], Vec::as_slice)
}

fn text(json: &Value) -> String {
    json.as_str().unwrap_or_default().to_owned()
}
