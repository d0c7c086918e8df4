//! A model whose tools are text: calls and results are parts of texts of Chat Completions, in the form of Hermes and
//! Qwen (chat template of `Qwen/Qwen2.5-7B-Instruct`, 2026-11).

use std::sync::Arc;

use bytes::Bytes;
use jackfield_domain::ids::ToolName;
use jackfield_domain::message::Role;
use jackfield_domain::reply::FinishReason;
use jackfield_domain::settings::ResponseFormat;
use jackfield_domain::tool::ToolChoice;
use jackfield_ports::chat_model::Capabilities;
use jackfield_provider_kit::by_model::ByModel;
use jackfield_provider_kit::text_tools::{TextTools, ToolMode};
use jackfield_provider_openai::config::Api;
use jackfield_testkit::contract::chat_model::{
    BlockKind, ChatModelHarness, Echo, EchoedCall, EchoedOutcome, EchoedPart, EchoedTool, Manner,
    RequestPart, ScriptedBlock, ScriptedFailure, VendorReply, WireReply,
};
use jackfield_testkit::server::RecordedRequest;
use serde_json::{Value, json};

use crate::chat::ChatHarness;
use crate::harness::{self, MODEL};

/// What the texts are sent in.
const CHAT: ChatHarness = ChatHarness::OpenAi;

pub(crate) struct TextHarness;

impl ChatModelHarness for TextHarness {
    type Model = TextTools;

    fn connect(&self, base_url: &str, key: &str) -> TextTools {
        let inner = harness::model(base_url, Api::ChatCompletions, key);
        TextTools::new(Arc::new(inner), ByModel::always(ToolMode::Text))
    }

    fn capabilities(&self) -> Capabilities {
        CHAT.capabilities()
    }

    fn model(&self) -> &str {
        MODEL
    }

    fn provider(&self) -> &str {
        CHAT.provider()
    }

    fn impossible(&self) -> &[(Manner, &str)] {
        const NONE: &str = "a call is written into the text, whole";
        &[
            (Manner::ArgumentsAtEnd, NONE),
            (Manner::ArgumentsAtOnce, NONE),
            (Manner::ArgumentsCumulative, NONE),
            (Manner::ArgumentsEmpty, NONE),
            (Manner::ArgumentsInterleaved, NONE),
            (Manner::ArgumentsMissing, NONE),
            (Manner::ArgumentsNull, NONE),
            (Manner::IdEmpty, NONE),
            (Manner::IdMissing, NONE),
            (Manner::IdSame, NONE),
            (Manner::IndexMissing, NONE),
            (Manner::IndexNegative, NONE),
            (Manner::IndexOneBased, NONE),
            (Manner::IndexReused, NONE),
            (Manner::LaterIdAndNameEmpty, NONE),
            (Manner::NameLate, NONE),
            (Manner::NameRepeated, NONE),
        ]
    }

    fn usual(&self) -> &[Manner] {
        &[
            Manner::ArgumentsAsObject,
            Manner::CallsInOnePiece,
            Manner::FinishSaysStop,
            Manner::UsageApart,
        ]
    }

    fn never_sends(&self) -> &[(BlockKind, &str)] {
        &[
            (BlockKind::CallWithState, "a call is text alone"),
            (
                BlockKind::Reasoning,
                "reasoning is counted here and never shown",
            ),
        ]
    }

    fn never_takes(&self) -> &[(RequestPart, &str)] {
        &[(
            RequestPart::CallId,
            "results stand in the order of their calls",
        )]
    }

    fn render(&self, reply: &VendorReply) -> Option<WireReply> {
        let impossible = |(manner, _): &(Manner, &str)| *manner == reply.manner;
        if self.impossible().iter().any(impossible) {
            return None;
        }
        let blocks = reply.blocks.iter().map(|block| match block {
            ScriptedBlock::CustomCall { input, name, .. } => {
                let arguments = json!({ "input": input.concat() }).to_string();
                Some(call(name, &[arguments]))
            }
            ScriptedBlock::ToolCall { state: Some(_), .. } => None,
            ScriptedBlock::ToolCall {
                arguments, name, ..
            } => Some(call(name, arguments)),
            ScriptedBlock::Reasoning { .. }
            | ScriptedBlock::Refusal(_)
            | ScriptedBlock::Text { .. } => Some(block.clone()),
        });
        let finish = if reply.finish == FinishReason::ToolCalls {
            FinishReason::Stop
        } else {
            reply.finish.clone()
        };
        CHAT.render(&VendorReply {
            blocks: blocks.collect::<Option<_>>()?,
            finish,
            ..reply.clone()
        })
    }

    fn echo(&self, request: &RecordedRequest) -> Echo {
        let sent = CHAT.echo(request);
        let mut echo = Echo {
            settings: sent.settings,
            ..Echo::default()
        };
        if let ResponseFormat::JsonSchema { name, .. } = &echo.settings.response_format
            && &**name == "tool_call"
        {
            echo.settings.response_format = ResponseFormat::Text;
        }
        prompt(&sent.system, &mut echo);
        for part in sent.parts {
            match part {
                EchoedPart::Text(text) if text.role == Role::Assistant => {
                    said(&text.text, &mut echo);
                }
                EchoedPart::Text(text) if text.text.starts_with("<tool_response>") => {
                    results(&text.text, &mut echo);
                }
                part @ (EchoedPart::Call(_)
                | EchoedPart::Outcome(_)
                | EchoedPart::Reasoning(_)
                | EchoedPart::Text(_)) => echo.parts.push(part),
            }
        }
        echo
    }

    fn render_failure(&self, failure: &ScriptedFailure) -> WireReply {
        CHAT.render_failure(failure)
    }

    fn render_models(&self, ids: &[&str]) -> Option<Vec<WireReply>> {
        CHAT.render_models(ids)
    }

    fn render_failure_event(&self, failure: &ScriptedFailure) -> Option<Bytes> {
        CHAT.render_failure_event(failure)
    }

    fn unknown_events(&self) -> Vec<Bytes> {
        CHAT.unknown_events()
    }

    fn broken_event(&self) -> Option<Bytes> {
        CHAT.broken_event()
    }
}

/// A call as the model writes it, in the pieces of its arguments.
fn call(name: &str, arguments: &[String]) -> ScriptedBlock {
    let none = arguments.concat().trim().is_empty();
    let head = format!("<tool_call>\n{{\"name\": \"{name}\", \"arguments\": ");
    let mut pieces = vec![head];
    if none {
        pieces.push("{}".to_owned());
    } else {
        pieces.extend_from_slice(arguments);
    }
    pieces.push("}\n</tool_call>".to_owned());
    ScriptedBlock::Text {
        pieces,
        state: None,
    }
}

/// What stands in the system prompt: the client's own, the tools, and which has to be called.
fn prompt(system: &str, echo: &mut Echo) {
    let Some((own, ours)) = system.split_once("# Tools\n\n") else {
        system.clone_into(&mut echo.system);
        return;
    };
    own.trim_end().clone_into(&mut echo.system);
    let (_, lines) = ours.split_once("<tools>\n").unwrap();
    let (lines, words) = lines.split_once("\n</tools>").unwrap();
    for line in lines.lines() {
        let tool: Value = serde_json::from_str(line).unwrap();
        let function = &tool["function"];
        echo.tools.push(EchoedTool {
            description: function["description"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            name: function["name"].as_str().unwrap().to_owned(),
            schema: function.get("parameters").cloned(),
            strict: None,
        });
    }
    if let Some((_, name)) = words.split_once("must call the function ") {
        let (name, _) = name.split_once('.').unwrap();
        echo.choice = ToolChoice::Named(ToolName::parse(name).unwrap());
    } else if words.contains("must call a function") {
        echo.choice = ToolChoice::Required;
    }
}

/// The texts and calls of the model.
fn said(text: &str, echo: &mut Echo) {
    let mut parts = text.split("<tool_call>\n");
    let own = parts.next().unwrap_or_default();
    if !own.is_empty() {
        echo.say(Role::Assistant, own.strip_suffix('\n').unwrap_or(own));
    }
    for part in parts {
        let (object, after) = part.split_once("\n</tool_call>").unwrap();
        let call: Value = serde_json::from_str(object).unwrap();
        echo.parts.push(EchoedPart::Call(EchoedCall {
            arguments: call["arguments"].to_string(),
            id: String::new(),
            name: call["name"].as_str().unwrap().to_owned(),
            state: None,
        }));
        let after = after.trim();
        if !after.is_empty() {
            echo.say(Role::Assistant, after);
        }
    }
}

/// The results of the tools.
fn results(text: &str, echo: &mut Echo) {
    for part in text.split("<tool_response>\n").skip(1) {
        let (object, _) = part.split_once("\n</tool_response>").unwrap();
        let result: Value = serde_json::from_str(object).unwrap();
        echo.parts.push(EchoedPart::Outcome(EchoedOutcome {
            id: String::new(),
            is_error: false,
            text: result["content"].as_str().unwrap().to_owned(),
            tool: result["name"].as_str().map(str::to_owned),
        }));
    }
}
