//! How Claude puts things on the wire, written by hand from the vendor's documentation of 2026-10-21.

use bytes::Bytes;
use jackfield_domain::usage::Usage;
use jackfield_ports::chat_model::Capabilities;
use jackfield_provider_claude::client::Claude;
use jackfield_provider_claude::config::ClaudeConfig;
use jackfield_provider_kit::secret::Secret;
use jackfield_provider_kit::transport::{Transport, TransportSettings};
use jackfield_testkit::contract::chat_model::{
    BlockKind, ChatModelHarness, Echo, Manner, Recording, RequestPart, ScriptedBlock,
    ScriptedFailure, ScriptedFailureKind, VendorReply, WireReply,
};
use jackfield_testkit::server::RecordedRequest;
use serde_json::{Value, json};

use crate::{echo, rendering};

pub(crate) struct ClaudeHarness;

pub(crate) const MODEL: &str = "claude-opus-5-5";

impl ChatModelHarness for ClaudeHarness {
    type Model = Claude;

    fn connect(&self, base_url: &str, key: &str) -> Claude {
        let mut config = ClaudeConfig::new(base_url).unwrap();
        config.key = Some(Secret::new(key));
        connect(config)
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
        rendering::render(reply)
    }

    fn impossible(&self) -> &[(Manner, &str)] {
        &[
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
            (Manner::RoleRepeated, "only `message_start` has a role"),
        ]
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
        echo::read(&request.json())
    }

    fn recordings(&self) -> Vec<Recording> {
        let arguments = "{\"timezone\": \"Asia/Tokyo\"}";
        let call = ScriptedBlock::call("any", "current_datetime", &[arguments]);
        let mut says = VendorReply::from_blocks(vec![call]);
        says.usage = Usage {
            cache_read: 175,
            input: 176,
            output: 24,
            ..Usage::default()
        };
        let bytes = include_str!("../recordings/llama-cpp-call.sse");
        let events = bytes.split_inclusive("\n\n").map(str::to_owned);
        vec![Recording {
            name: "llama-cpp-call.sse".to_owned(),
            meaning: says,
            wire: WireReply::events(events),
        }]
    }

    fn render_failure(&self, failure: &ScriptedFailure) -> WireReply {
        let (status, body) = failed(failure);
        let wire = WireReply::json(status, body.to_string()).header("request-id", "req_1");
        if let ScriptedFailureKind::RateLimited(Some(delay)) = failure.kind {
            return wire.header("retry-after", delay.as_secs().to_string());
        }
        wire
    }

    fn render_models(&self, ids: &[&str]) -> Option<Vec<WireReply>> {
        // A page for each, which nobody's list is long enough for.
        let pages = ids.iter().enumerate().map(|(nth, id)| {
            let model = json!({ "type": "model", "id": id, "display_name": "One" });
            let more = nth + 1 < ids.len();
            let page = json!({ "data": [model], "has_more": more, "first_id": id, "last_id": id });
            WireReply::json(200, page.to_string())
        });
        Some(pages.collect())
    }

    fn render_failure_event(&self, failure: &ScriptedFailure) -> Option<Bytes> {
        Some(event(&failed(failure).1))
    }

    fn unknown_events(&self) -> Vec<Bytes> {
        vec![
            ": a comment\n\n".into(),
            event(&json!({ "type": "ping" })),
            event(&json!({ "type": "message_mood", "mood": ["fine"], "index": "none" })),
            "event: message_mood\ndata: fine, and not JSON\n\n".into(),
        ]
    }

    fn broken_event(&self) -> Option<Bytes> {
        Some("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"ind\n\n".into())
    }
}

pub(crate) fn connect(config: ClaudeConfig) -> Claude {
    let transport = Transport::new(TransportSettings::default()).unwrap();
    Claude::new(config, transport).unwrap()
}

/// An event as it stands on the wire.
pub(crate) fn event(data: &Value) -> Bytes {
    format!(
        "event: {}\ndata: {data}\n\n",
        data["type"].as_str().unwrap()
    )
    .into()
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
    let body = json!({
        "type": "error",
        "error": { "type": kind, "message": failure.message },
        "request_id": "req_1",
    });
    (status, body)
}
