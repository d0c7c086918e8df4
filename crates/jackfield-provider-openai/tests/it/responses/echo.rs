//! What a request of Responses says, read back from the wire.

use jackfield_domain::message::Role;
use jackfield_domain::settings::Settings;
use jackfield_domain::tool::ToolChoice;
use jackfield_testkit::contract::chat_model::{
    Echo, EchoedCall, EchoedOutcome, EchoedPart, EchoedReasoning, EchoedText, EchoedTool,
};
use serde_json::Value;

use crate::echo::{self, count, list, text, words};

pub(super) fn read(body: &Value) -> Echo {
    let mut echo = Echo {
        choice: choice(&body["tool_choice"]),
        settings: settings(body),
        system: text(&body["instructions"]),
        ..Echo::default()
    };
    echo.parts.extend(list(&body["input"]).iter().map(part));
    for tool in list(&body["tools"]) {
        echo.tools.push(EchoedTool {
            description: text(&tool["description"]),
            name: text(&tool["name"]),
            schema: tool.get("parameters").cloned(),
            strict: tool["strict"].as_bool(),
        });
    }
    echo
}

fn part(item: &Value) -> EchoedPart {
    // The vendor binds an item to the reasoning before it by its id.
    let id = item["id"].as_str().map(str::to_owned);
    match item["type"].as_str().unwrap_or("message") {
        "custom_tool_call" | "function_call" => EchoedPart::Call(EchoedCall {
            arguments: text(item.get("arguments").unwrap_or_else(|| &item["input"])),
            id: text(&item["call_id"]),
            name: text(&item["name"]),
            state: id,
        }),
        "custom_tool_call_output" | "function_call_output" => EchoedPart::Outcome(EchoedOutcome {
            id: text(&item["call_id"]),
            text: words(&item["output"]),
            ..EchoedOutcome::default()
        }),
        "reasoning" => EchoedPart::Reasoning(EchoedReasoning {
            state: item["encrypted_content"].as_str().map(str::to_owned),
            text: Some(words(&item["summary"])),
        }),
        _ => EchoedPart::Text(EchoedText {
            role: match item["role"].as_str() {
                Some("assistant") => Role::Assistant,
                Some("user") => Role::User,
                _ => Role::System,
            },
            state: id,
            text: words(&item["content"]),
        }),
    }
}

fn choice(choice: &Value) -> ToolChoice {
    match choice["type"].as_str() {
        Some("allowed_tools") => echo::choice(choice["mode"].as_str(), Some(&choice["tools"])),
        Some(_) => ToolChoice::Named(echo::name(choice)),
        None => echo::choice(choice.as_str(), None),
    }
}

fn settings(body: &Value) -> Settings {
    let format = &body["text"]["format"];
    Settings {
        effort: echo::effort(&body["reasoning"]["effort"]),
        max_output_tokens: count(&body["max_output_tokens"]),
        response_format: echo::format(format, format),
        thinking_shown: body["reasoning"]["summary"].as_str().map(|_| true),
        verbosity: echo::verbosity(&body["text"]["verbosity"]),
        ..echo::settings(body)
    }
}
