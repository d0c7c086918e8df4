//! What a request of Chat Completions says, read back from the wire.

use jackfield_domain::message::Role;
use jackfield_domain::settings::Settings;
use jackfield_domain::tool::ToolChoice;
use jackfield_testkit::contract::chat_model::{
    Echo, EchoedCall, EchoedOutcome, EchoedPart, EchoedReasoning, EchoedTool,
};
use serde_json::Value;

use crate::echo::{self, count, list, text, words};

pub(super) fn read(body: &Value) -> Echo {
    let mut echo = Echo {
        choice: choice(&body["tool_choice"]),
        settings: settings(body),
        ..Echo::default()
    };
    for message in list(&body["messages"]) {
        let said = words(&message["content"]);
        match message["role"].as_str().unwrap() {
            "assistant" => assistant(message, said, &mut echo),
            "tool" => echo.parts.push(EchoedPart::Outcome(EchoedOutcome {
                id: text(&message["tool_call_id"]),
                text: said,
                ..EchoedOutcome::default()
            })),
            "user" => echo.say(Role::User, said),
            _ if echo.parts.is_empty() => echo.system = said,
            _ => echo.say(Role::System, said),
        }
    }
    for tool in list(&body["tools"]) {
        let function = if tool["type"] == "custom" {
            &tool["custom"]
        } else {
            &tool["function"]
        };
        echo.tools.push(EchoedTool {
            description: text(&function["description"]),
            name: text(&function["name"]),
            schema: function.get("parameters").cloned(),
            strict: function["strict"].as_bool(),
        });
    }
    echo
}

/// The parts of a message in the order in which a server reads its fields.
fn assistant(message: &Value, said: String, echo: &mut Echo) {
    if let Some(words) = message["reasoning_content"].as_str() {
        echo.parts.push(EchoedPart::Reasoning(EchoedReasoning {
            state: None,
            text: Some(words.to_owned()),
        }));
    }
    echo.say(Role::Assistant, said);
    echo.say(Role::Assistant, text(&message["refusal"]));
    for call in list(&message["tool_calls"]) {
        let what = if call["type"] == "custom" {
            &call["custom"]
        } else {
            &call["function"]
        };
        let arguments = what.get("arguments").unwrap_or_else(|| &what["input"]);
        let signature = &call["extra_content"]["google"]["thought_signature"];
        echo.parts.push(EchoedPart::Call(EchoedCall {
            arguments: text(arguments),
            id: text(&call["id"]),
            name: text(&what["name"]),
            state: signature.as_str().map(str::to_owned),
        }));
    }
}

fn choice(choice: &Value) -> ToolChoice {
    match choice["type"].as_str() {
        Some("allowed_tools") => {
            let allowed = &choice["allowed_tools"];
            echo::choice(allowed["mode"].as_str(), Some(&allowed["tools"]))
        }
        Some(_) => ToolChoice::Named(echo::name(choice)),
        None => echo::choice(choice.as_str(), None),
    }
}

fn settings(body: &Value) -> Settings {
    let limits = [&body["max_completion_tokens"], &body["max_tokens"]];
    let format = &body["response_format"];
    Settings {
        effort: echo::effort(&body["reasoning_effort"]),
        frequency_penalty: body["frequency_penalty"].as_f64(),
        max_output_tokens: limits.into_iter().find_map(count),
        presence_penalty: body["presence_penalty"].as_f64(),
        response_format: echo::format(format, &format["json_schema"]),
        seed: body["seed"].as_i64(),
        stop: list(&body["stop"])
            .iter()
            .map(|stop| text(stop).into())
            .collect(),
        verbosity: echo::verbosity(&body["verbosity"]),
        ..echo::settings(body)
    }
}
