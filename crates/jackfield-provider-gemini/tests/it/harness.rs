//! How Gemini puts things on the wire, written by hand from the vendor's documentation and the types of
//! `google-genai` 3.6.1 (2026-11).

use bytes::Bytes;
use jackfield_ports::chat_model::Capabilities;
use jackfield_provider_gemini::client::Gemini;
use jackfield_provider_gemini::config::GeminiConfig;
use jackfield_provider_kit::secret::Secret;
use jackfield_provider_kit::transport::{Transport, TransportSettings};
use jackfield_testkit::contract::chat_model::{
    BlockKind, ChatModelHarness, Echo, Manner, ScriptedFailure, ScriptedFailureKind, VendorReply,
    WireReply,
};
use jackfield_testkit::server::RecordedRequest;
use serde_json::{Value, json};

use crate::{echo, rendering};

pub(crate) struct GeminiHarness;

pub(crate) const MODEL: &str = "gemini-3.8-flash";

impl ChatModelHarness for GeminiHarness {
    type Model = Gemini;

    fn connect(&self, base_url: &str, key: &str) -> Gemini {
        let mut config = GeminiConfig::new(base_url).unwrap();
        config.key = Some(Secret::new(key));
        connect(config)
    }

    fn capabilities(&self) -> Capabilities {
        let mut can = Capabilities::NONE;
        can.audio = true;
        can.documents = true;
        can.forced_tools = true;
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
        "gcp.gemini"
    }

    fn render(&self, reply: &VendorReply) -> Option<WireReply> {
        rendering::render(reply)
    }

    fn impossible(&self) -> &[(Manner, &str)] {
        rendering::IMPOSSIBLE
    }

    fn usual(&self) -> &[Manner] {
        &[
            Manner::ArgumentsAsObject,
            Manner::EndMarkerMissing,
            Manner::FinishSaysStop,
            Manner::RoleRepeated,
            Manner::UsageInEachPiece,
        ]
    }

    fn never_sends(&self) -> &[(BlockKind, &str)] {
        &[
            (
                BlockKind::CustomCall,
                "every function takes JSON; the adapter puts text into a field of it",
            ),
            (
                BlockKind::Refusal,
                "a refusal is a reason to end, and its words are text",
            ),
        ]
    }

    fn echo(&self, request: &RecordedRequest) -> Echo {
        echo::read(&request.json())
    }

    fn render_failure(&self, failure: &ScriptedFailure) -> WireReply {
        let (status, body) = failed(failure);
        WireReply::json(status, body.to_string())
    }

    fn render_models(&self, ids: &[&str]) -> Option<Vec<WireReply>> {
        // A page for each model.
        let pages = ids.iter().enumerate().map(|(nth, id)| {
            let mut page = json!({ "models": [{
                "name": format!("models/{id}"),
                "version": "001",
                "displayName": "One",
                "inputTokenLimit": 1_048_576,
                "outputTokenLimit": 65_536,
                "supportedGenerationMethods": ["generateContent", "countTokens"],
            }] });
            if nth + 1 < ids.len() {
                page["nextPageToken"] = json!(format!("page {nth}"));
            }
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
            event(&json!({ "modelStatus": { "modelStage": "STABLE" } })),
            event(&json!({ "mood": ["fine"], "candidates": [] })),
        ]
    }

    fn broken_event(&self) -> Option<Bytes> {
        Some("data: {\"candidates\":[{\"content\":{\"par\n\n".into())
    }
}

pub(crate) fn connect(config: GeminiConfig) -> Gemini {
    let transport = Transport::new(TransportSettings::default()).unwrap();
    Gemini::new(config, transport).unwrap()
}

/// An event as it stands on the wire.
pub(crate) fn event(data: &Value) -> Bytes {
    format!("data: {data}\r\n\r\n").into()
}

/// The status and the body of a failure.
fn failed(failure: &ScriptedFailure) -> (u16, Value) {
    let (status, name) = match failure.kind {
        ScriptedFailureKind::Forbidden => (403, "PERMISSION_DENIED"),
        ScriptedFailureKind::InvalidRequest | ScriptedFailureKind::Unauthenticated => {
            (400, "INVALID_ARGUMENT")
        }
        ScriptedFailureKind::ModelNotFound => (404, "NOT_FOUND"),
        ScriptedFailureKind::Overloaded => (503, "UNAVAILABLE"),
        ScriptedFailureKind::RateLimited(_) => (429, "RESOURCE_EXHAUSTED"),
        ScriptedFailureKind::ServerError => (500, "INTERNAL"),
    };
    let mut body =
        json!({ "error": { "code": status, "message": failure.message, "status": name } });
    match failure.kind {
        ScriptedFailureKind::Unauthenticated => {
            body["error"]["details"] = json!([{
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": "API_KEY_INVALID",
                "domain": "googleapis.com",
                "metadata": { "service": "generativelanguage.googleapis.com" },
            }]);
        }
        ScriptedFailureKind::RateLimited(Some(delay)) => {
            body["error"]["details"] = json!([{
                "@type": "type.googleapis.com/google.rpc.RetryInfo",
                "retryDelay": format!("{}s", delay.as_secs()),
            }]);
        }
        _ => {}
    }
    (status, body)
}
