//! How acme puts things on the wire: one JSON value per line, and nothing else.

use bytes::Bytes;
use jackfield_domain::reply::FinishReason;
use jackfield_ports::chat_model::Capabilities;
use jackfield_testkit::contract::chat_model::{
    ChatModelHarness, Manner, ScriptedBlock, ScriptedFailure, ScriptedFailureKind, ScriptedReply,
    WireReply,
};
use serde_json::{Value, json};

use super::acme::{Acme, Fault};

pub(super) struct AcmeHarness(pub(super) Fault);

impl ChatModelHarness for AcmeHarness {
    type Model = Acme;

    fn connect(&self, base_url: &str, key: &str) -> Acme {
        Acme {
            address: base_url.trim_start_matches("http://").to_owned(),
            fault: self.0,
            key: key.to_owned(),
        }
    }

    fn capabilities(&self) -> Capabilities {
        super::acme::CAPABILITIES
    }

    fn model(&self) -> &str {
        "anvil-2"
    }

    fn provider(&self) -> &str {
        "acme"
    }

    fn render(&self, reply: &ScriptedReply) -> Option<WireReply> {
        if reply.manner != Manner::Usual {
            return None;
        }
        let mut lines = Vec::new();
        for block in &reply.blocks {
            match block {
                ScriptedBlock::CustomCall { .. }
                | ScriptedBlock::Reasoning { .. }
                | ScriptedBlock::Refusal(_) => return None,
                ScriptedBlock::Text(pieces) => {
                    lines.extend(pieces.iter().map(|piece| json!({ "text": piece })));
                }
                ScriptedBlock::ToolCall {
                    arguments,
                    id,
                    name,
                } => {
                    lines.push(json!({ "call": { "id": id, "name": name } }));
                    lines.extend(arguments.iter().map(|piece| json!({ "args": piece })));
                }
            }
        }
        let why = match &reply.finish {
            FinishReason::Length => "length",
            FinishReason::Stop => "stop",
            FinishReason::ToolCalls => "calls",
            FinishReason::Unrecognized(reason) => reason,
            FinishReason::ContentFilter
            | FinishReason::ContextFull
            | FinishReason::Paused
            | FinishReason::Refused
            | FinishReason::StopSequence(_) => return None,
        };
        let usage = |output| json!({ "input": reply.usage.input, "cached": reply.usage.cache_read, "output": output });
        lines.push(json!({ "usage": usage(1) }));
        lines.push(json!({ "usage": usage(reply.usage.output) }));
        lines.push(json!({ "end": why }));
        Some(WireReply::events(lines.iter().map(line)))
    }

    fn render_failure(&self, failure: &ScriptedFailure) -> WireReply {
        let (status, what) = name(failure.kind);
        let body = json!({ "error": { "what": what, "say": failure.message } });
        let wire = WireReply::json(status, body.to_string());
        if let ScriptedFailureKind::RateLimited(Some(delay)) = failure.kind {
            return wire.header("retry-after", delay.as_secs().to_string());
        }
        wire
    }

    fn render_failure_event(&self, failure: &ScriptedFailure) -> Option<Bytes> {
        let (_, what) = name(failure.kind);
        Some(line(
            &json!({ "error": { "what": what, "say": failure.message } }),
        ))
    }

    fn unknown_events(&self) -> Vec<Bytes> {
        vec![line(&json!({ "weather": "fine" })), "\n".into()]
    }

    fn broken_event(&self) -> Option<Bytes> {
        Some("{\"text\": \"on\n".into())
    }
}

fn line(value: &Value) -> Bytes {
    format!("{value}\n").into()
}

fn name(kind: ScriptedFailureKind) -> (u16, &'static str) {
    match kind {
        ScriptedFailureKind::Forbidden => (403, "forbidden"),
        ScriptedFailureKind::InvalidRequest => (400, "invalid"),
        ScriptedFailureKind::ModelNotFound => (404, "model"),
        ScriptedFailureKind::Overloaded => (503, "overloaded"),
        ScriptedFailureKind::RateLimited(_) => (429, "rate"),
        ScriptedFailureKind::ServerError => (500, "broken"),
        ScriptedFailureKind::Unauthenticated => (401, "key"),
    }
}
