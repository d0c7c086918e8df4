//! The contract of `ChatModel`: the stand-in for the program asks the contract's server, in Claude's language.
//!
//! The renderer and the reader of requests are those of the Claude adapter's tests, but for the names of tools and for
//! the text that ends each message.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bytes::Bytes;
use jackfield_domain::message::Messages;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::reply::ReplyEnd;
use jackfield_domain::request::ModelRequest;
use jackfield_ports::call_context::CallContext;
use jackfield_ports::chat_model::{Capabilities, ChatModel, ModelError};
use jackfield_ports::delta_sink::DeltaSink;
use jackfield_provider_claude_code::{ClaudeCode, ClaudeCodeConfig};
use jackfield_provider_kit::secret::Secret;
use jackfield_testkit::contract::chat_model::{
    BlockKind, ChatModelHarness, Echo, Manner, RequestPart, ScriptedBlock, ScriptedFailure,
    ScriptedFailureKind, VendorReply, WireReply,
};
use jackfield_testkit::server::RecordedRequest;
use jackfield_testservers::built::program;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{MODEL, event};

#[path = "../../../jackfield-provider-claude/tests/it/echo.rs"]
mod echo;
#[path = "../../../jackfield-provider-claude/tests/it/rendering.rs"]
mod rendering;

/// What Claude Code puts before the names of our tools.
const PREFIX: &str = "mcp__gateway__";

struct ClaudeCodeHarness;

/// A model, and the folder for what its program writes. The ids of sessions are random, and the contract compares
/// whole replies: so it gets states without them, and they are put back into its requests. The list of models is not
/// part of it, as it does not come from a server.
struct Contracted {
    _folder: TempDir,
    model: ClaudeCode,
    /// The states, by the digest of their conversation.
    states: Mutex<HashMap<String, Value>>,
}

#[async_trait]
impl ChatModel for Contracted {
    fn capabilities(&self) -> Capabilities {
        self.model.capabilities()
    }

    fn state_owner(&self, model: &str) -> StateOwner {
        self.model.state_owner(model)
    }

    async fn reply(
        &self,
        request: &ModelRequest,
        call: &CallContext,
        sink: &mut dyn DeltaSink,
    ) -> Result<ReplyEnd, ModelError> {
        let messages = request.messages.iter().map(|message| {
            let mut message = (**message).clone();
            for state in &mut message.opaque {
                let known = self.states.lock().unwrap();
                let conversation = state.json["conversation"].as_str().unwrap_or_default();
                if let Some(whole) = known.get(conversation) {
                    state.json = whole.clone();
                }
            }
            Arc::new(message)
        });
        let messages = Messages::with_history(Arc::new(messages.collect()));
        let request = ModelRequest {
            messages,
            ..request.clone()
        };
        let mut end = self.model.reply(&request, call, sink).await?;
        for state in &mut end.opaque {
            let conversation = state.json["conversation"].as_str().unwrap().to_owned();
            let short = json!({ "conversation": conversation });
            let whole = std::mem::replace(&mut state.json, short);
            self.states.lock().unwrap().insert(conversation, whole);
        }
        // The figure is Claude Code's own, and the contract has none.
        if let Some(usage) = &mut end.usage {
            usage.billed = None;
        }
        Ok(end)
    }
}

impl fmt::Debug for Contracted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.model.fmt(f)
    }
}

impl ChatModelHarness for ClaudeCodeHarness {
    type Model = Contracted;

    fn connect(&self, base_url: &str, key: &str) -> Contracted {
        let folder = TempDir::new().unwrap();
        let mut config = ClaudeCodeConfig::new(folder.path().join("work"));
        config.base_url = Some(base_url.into());
        config.command = program("scripted-claude-code").display().to_string();
        let place = folder.path().join("config").display().to_string();
        config.environment = vec![("CLAUDE_CONFIG_DIR".to_owned(), place)];
        config.key = Some(Secret::new(key));
        Contracted {
            _folder: folder,
            model: ClaudeCode::new(config),
            states: Mutex::default(),
        }
    }

    fn capabilities(&self) -> Capabilities {
        let mut can = Capabilities::NONE;
        can.documents = true;
        can.images = true;
        can.parallel_calls = true;
        can.reasoning = true;
        can.streaming = true;
        can.structured_output = true;
        can.tools = true;
        can
    }

    fn model(&self) -> &str {
        MODEL
    }

    fn provider(&self) -> &str {
        "anthropic"
    }

    fn render(&self, reply: &VendorReply) -> Option<WireReply> {
        let mut reply = reply.clone();
        for block in &mut reply.blocks {
            match block {
                ScriptedBlock::CustomCall { name, .. } | ScriptedBlock::ToolCall { name, .. } => {
                    name.insert_str(0, PREFIX);
                }
                ScriptedBlock::Reasoning { .. }
                | ScriptedBlock::Refusal(_)
                | ScriptedBlock::Text { .. } => {}
            }
        }
        if reply.manner == Manner::NotStreamed {
            return None;
        }
        rendering::render(&reply)
    }

    fn impossible(&self) -> &[(Manner, &str)] {
        IMPOSSIBLE
    }

    fn never_sends(&self) -> &[(BlockKind, &str)] {
        &[
            (
                BlockKind::CustomCall,
                "every tool takes JSON; the adapter puts text into a field of it",
            ),
            (
                BlockKind::Refusal,
                "a refusal is a reason to end, and its words are text",
            ),
            (BlockKind::TextWithState, "a text has citations alone"),
        ]
    }

    fn never_takes(&self) -> &[(RequestPart, &str)] {
        &[(RequestPart::OutcomeTool, "a result goes by its call's id")]
    }

    fn echo(&self, request: &RecordedRequest) -> Echo {
        let mut body = request.json();
        // Claude Code's form of a schema is a tool.
        let mut tools = body["tools"].as_array().cloned().unwrap_or_default();
        if let Some(place) = tools
            .iter()
            .position(|tool| tool["name"] == "StructuredOutput")
        {
            let schema = tools.remove(place)["input_schema"].take();
            body["tools"] = Value::Array(tools);
            body["output_config"]["format"] = json!({ "type": "json_schema", "schema": schema });
        }
        for tool in body["tools"].as_array_mut().into_iter().flatten() {
            strip(tool);
        }
        for message in body["messages"].as_array_mut().into_iter().flatten() {
            if let Some(blocks) = message["content"].as_array_mut() {
                blocks.iter_mut().for_each(strip);
                blocks.retain(|block| block["text"] != "(End of the message.)");
            }
        }
        // The program's own, where there is none.
        if body["max_tokens"] == 32_000
            && let Some(fields) = body.as_object_mut()
        {
            fields.remove("max_tokens");
        }
        echo::read(&body)
    }

    fn render_failure(&self, failure: &ScriptedFailure) -> WireReply {
        let (status, body) = failed(failure);
        WireReply::json(status, body.to_string())
    }

    fn render_failure_event(&self, failure: &ScriptedFailure) -> Option<Bytes> {
        Some(event(&failed(failure).1))
    }

    fn unknown_events(&self) -> Vec<Bytes> {
        vec![
            ": a comment\n\n".into(),
            event(&json!({ "type": "ping" })),
            event(&json!({ "type": "message_mood", "mood": ["fine"], "index": "none" })),
        ]
    }

    fn broken_event(&self) -> Option<Bytes> {
        Some("event: content_block_delta\ndata: {\"type\":\"content_block_delta\"}\n\n".into())
    }
}

/// Takes the prefix from a name.
fn strip(value: &mut Value) {
    let name = value["name"]
        .as_str()
        .and_then(|name| name.strip_prefix(PREFIX));
    if let Some(name) = name.map(str::to_owned) {
        value["name"] = name.into();
    }
}

/// The status and the body of a failure.
fn failed(failure: &ScriptedFailure) -> (u16, Value) {
    let (status, kind) = match failure.kind {
        ScriptedFailureKind::Forbidden => (403, "permission_error"),
        ScriptedFailureKind::InvalidRequest => (400, "invalid_request_error"),
        ScriptedFailureKind::ModelNotFound => (404, "not_found_error"),
        ScriptedFailureKind::Overloaded => (529, "overloaded_error"),
        ScriptedFailureKind::RateLimited(_) => (429, "rate_limit_error"),
        ScriptedFailureKind::ServerError => (500, "api_error"),
        ScriptedFailureKind::Unauthenticated => (401, "authentication_error"),
    };
    let error = json!({ "type": kind, "message": failure.message });
    (status, json!({ "type": "error", "error": error }))
}

/// What the stream of Claude's API has no form for, as with the Claude adapter.
const IMPOSSIBLE: &[(Manner, &str)] = &[
    (
        Manner::ArgumentsAtEnd,
        "what ends a block has nothing but its number",
    ),
    (
        Manner::ArgumentsAtOnce,
        "in the event that begins a call they are a value, and not text",
    ),
    (
        Manner::ArgumentsCumulative,
        "no server is known to repeat pieces of a block",
    ),
    (Manner::CallsInOnePiece, "an event is about one block"),
    (
        Manner::EndMarkerMissing,
        "a reply ends with `message_stop`; without it, it broke off",
    ),
    (
        Manner::IndexMissing,
        "blocks may be open at once, and their pieces go by the number alone",
    ),
    (
        Manner::IndexNegative,
        "no server is known to count blocks below zero",
    ),
    (
        Manner::LaterIdAndNameEmpty,
        "pieces have neither ids nor names",
    ),
    (
        Manner::NameLate,
        "the event that begins a call has its name",
    ),
    (Manner::NameRepeated, "pieces have no names"),
    (Manner::NotStreamed, "the program asks for streams alone"),
    (Manner::RoleRepeated, "only `message_start` has a role"),
];

jackfield_testkit::chat_model_contract!(ClaudeCodeHarness, except: {
    calls_with_unusable_ids_are_kept_apart =>
        "the API behind Claude Code gives each call an id, and its sessions go by them",
    connect_failure_is_before_send =>
        "the request is Claude Code's, and it does not prove that it was not sent",
    conversations_keep_their_order_and_authors =>
        "a conversation that Claude Code does not have goes as text, with a note",
    failed_outcomes_are_marked_or_noted =>
        "a conversation that Claude Code does not have goes as text, with a note",
    html_instead_of_json_is_a_clear_failure =>
        "the answer goes to Claude Code, whose words are passed on",
    outcomes_name_their_tools =>
        "a conversation that Claude Code does not have goes as text, with a note",
    rate_limit_reports_the_servers_delay => "Claude Code does not pass the delay on",
    the_system_prompt_is_sent_as_such =>
        "a conversation that Claude Code does not have goes as text, with a note",
});
