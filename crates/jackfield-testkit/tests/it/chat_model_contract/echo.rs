//! What acme's requests say, read back from its wire.

use jackfield_domain::ids::ToolName;
use jackfield_domain::message::Role;
use jackfield_domain::settings::{Effort, Settings};
use jackfield_domain::tool::ToolChoice;
use jackfield_testkit::contract::chat_model::{
    Echo, EchoedCall, EchoedOutcome, EchoedPart, EchoedReasoning, EchoedText, EchoedTool,
};
use serde_json::Value;

pub(super) fn read(body: &Value) -> Echo {
    let mut echo = Echo {
        choice: choice(&body["choice"]),
        settings: settings(&body["settings"]),
        system: text(&body["system"]),
        ..Echo::default()
    };
    for message in list(&body["messages"]) {
        let role = match message["by"].as_str().unwrap() {
            "model" => Role::Assistant,
            "operator" => Role::System,
            _ => Role::User,
        };
        let parts = list(&message["parts"]).iter();
        echo.parts.extend(parts.map(|part| self::part(role, part)));
    }
    for tool in list(&body["tools"]) {
        echo.tools.push(EchoedTool {
            description: text(&tool["about"]),
            name: text(&tool["name"]),
            schema: Some(tool["takes"].clone()).filter(|takes| !takes.is_null()),
            strict: tool["strict"].as_bool(),
        });
    }
    echo
}

fn part(role: Role, part: &Value) -> EchoedPart {
    let state = |name: &str| part[name].as_str().map(str::to_owned);
    if part["call"].is_string() {
        return EchoedPart::Call(EchoedCall {
            arguments: text(&part["args"]),
            id: text(&part["call"]),
            name: text(&part["name"]),
            state: state("mark"),
        });
    }
    if part["outcome"].is_string() {
        return EchoedPart::Outcome(EchoedOutcome {
            id: text(&part["outcome"]),
            is_error: part["failed"] == true,
            text: text(&part["say"]),
            tool: state("of"),
        });
    }
    if part["think"].is_string() {
        return EchoedPart::Reasoning(EchoedReasoning {
            state: state("seal"),
            text: Some(text(&part["think"])),
        });
    }
    EchoedPart::Text(EchoedText {
        role,
        state: state("mark"),
        text: text(&part["text"]) + &text(&part["refuse"]),
    })
}

fn choice(choice: &Value) -> ToolChoice {
    let tools = list(&choice["tools"]).iter();
    let mut tools: Vec<ToolName> = tools
        .map(|name| ToolName::parse(name.as_str().unwrap()).unwrap())
        .collect();
    match choice["call"].as_str() {
        Some("any") if tools.is_empty() => ToolChoice::Required,
        Some("none") => ToolChoice::Forbidden,
        Some("this") => ToolChoice::Named(tools.remove(0)),
        Some(call) => ToolChoice::Only {
            required: call == "any",
            tools,
        },
        None => ToolChoice::Auto,
    }
}

fn settings(settings: &Value) -> Settings {
    let number = |name: &str| settings[name].as_f64();
    let count = |name: &str| {
        settings[name]
            .as_u64()
            .map(|count| count.try_into().unwrap())
    };
    let words = |name: &str| settings[name].as_str().map(Into::into);
    Settings {
        effort: settings["effort"].as_str().map(|effort| match effort {
            "High" => Effort::High,
            _ => Effort::Low,
        }),
        end_user: words("user"),
        frequency_penalty: number("frequency"),
        max_output_tokens: count("limit"),
        parallel_calls: settings["parallel"].as_bool(),
        presence_penalty: number("presence"),
        seed: settings["seed"].as_i64(),
        service_tier: words("tier"),
        stop: list(&settings["stop"])
            .iter()
            .map(|stop| text(stop).into())
            .collect(),
        temperature: number("temperature"),
        top_k: count("top_k"),
        top_p: number("top_p"),
        ..Settings::default()
    }
}

fn list(json: &Value) -> &[Value] {
    json.as_array().map_or(&[], Vec::as_slice)
}

fn text(json: &Value) -> String {
    json.as_str().unwrap_or_default().to_owned()
}
