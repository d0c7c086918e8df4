//! How Claude puts things on the wire, written by hand from the vendor's documentation of 2026-10-21.

use bytes::Bytes;
use jackfield_domain::reply::FinishReason;
use jackfield_ports::chat_model::Capabilities;
use jackfield_provider_claude::client::Claude;
use jackfield_provider_claude::config::ClaudeConfig;
use jackfield_provider_kit::secret::Secret;
use jackfield_provider_kit::transport::{Transport, TransportSettings};
use jackfield_testkit::contract::chat_model::{
    ChatModelHarness, Manner, ScriptedBlock, ScriptedFailure, ScriptedFailureKind, ScriptedReply,
    WireReply,
};
use serde_json::{Value, json};

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

    fn render(&self, reply: &ScriptedReply) -> Option<WireReply> {
        if reply.manner != Manner::Usual {
            return None;
        }
        let (reason, sequence) = match &reply.finish {
            FinishReason::ContextFull => ("model_context_window_exceeded", None),
            FinishReason::Length => ("max_tokens", None),
            FinishReason::Paused => ("pause_turn", None),
            FinishReason::Refused => ("refusal", None),
            FinishReason::Stop => ("end_turn", None),
            FinishReason::StopSequence(text) => ("stop_sequence", Some(&**text)),
            FinishReason::ToolCalls => ("tool_use", None),
            FinishReason::Unrecognized(reason) => (&**reason, None),
            // The vendor calls this a refusal, too.
            FinishReason::ContentFilter => return None,
        };
        let usage = &reply.usage;
        let mut events = vec![
            json!({ "type": "message_start", "message": {
                "id": "msg_1", "type": "message", "role": "assistant", "model": MODEL,
                "content": [], "stop_reason": null, "stop_sequence": null,
                "usage": {
                    "input_tokens": usage.input - usage.cache_read - usage.cache_write,
                    "cache_creation_input_tokens": usage.cache_write,
                    "cache_read_input_tokens": usage.cache_read,
                    "output_tokens": 1,
                },
            } }),
            json!({ "type": "ping" }),
        ];
        for (index, block) in reply.blocks.iter().enumerate() {
            let (start, deltas): (Value, Vec<Value>) = match block {
                ScriptedBlock::CustomCall { .. }
                | ScriptedBlock::Reasoning { .. }
                | ScriptedBlock::Refusal(_) => return None,
                ScriptedBlock::Text(pieces) => (
                    json!({ "type": "text", "text": "" }),
                    pieces
                        .iter()
                        .map(|piece| json!({ "type": "text_delta", "text": piece }))
                        .collect(),
                ),
                ScriptedBlock::ToolCall {
                    arguments,
                    id,
                    name,
                } => (
                    json!({ "type": "tool_use", "id": id, "name": name, "input": {} }),
                    arguments
                        .iter()
                        .map(|piece| json!({ "type": "input_json_delta", "partial_json": piece }))
                        .collect(),
                ),
            };
            events.push(
                json!({ "type": "content_block_start", "index": index, "content_block": start }),
            );
            events.extend(deltas.into_iter().map(
                |delta| json!({ "type": "content_block_delta", "index": index, "delta": delta }),
            ));
            events.push(json!({ "type": "content_block_stop", "index": index }));
        }
        // Usage is cumulative, and may be told more than once.
        events
            .push(json!({ "type": "message_delta", "delta": {}, "usage": { "output_tokens": 2 } }));
        events.push(json!({
            "type": "message_delta",
            "delta": { "stop_reason": reason, "stop_sequence": sequence },
            "usage": { "output_tokens": usage.output },
        }));
        events.push(json!({ "type": "message_stop" }));
        let wire = WireReply::events(events.iter().map(event));
        Some(wire.header("request-id", "req_1"))
    }

    fn render_failure(&self, failure: &ScriptedFailure) -> WireReply {
        let (status, body) = failed(failure);
        let wire = WireReply::json(status, body.to_string()).header("request-id", "req_1");
        if let ScriptedFailureKind::RateLimited(Some(delay)) = failure.kind {
            return wire.header("retry-after", delay.as_secs().to_string());
        }
        wire
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

/// As [`connect`], with connections that are kept as those to `https` addresses are.
pub(crate) fn connect_keeping(config: ClaudeConfig) -> Claude {
    let mut settings = TransportSettings::default();
    settings.keep_plain = true;
    Claude::new(config, Transport::new(settings).unwrap()).unwrap()
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
