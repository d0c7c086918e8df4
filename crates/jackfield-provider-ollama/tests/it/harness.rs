//! How Ollama puts things on the wire, written by hand from `api/types.go`, `server/routes.go` and `docs/api.md` of
//! `github.com/ollama/ollama` at fb30760 (2026-08-21).

use bytes::Bytes;
use jackfield_ports::chat_model::Capabilities;
use jackfield_provider_kit::secret::Secret;
use jackfield_provider_kit::transport::{Transport, TransportSettings};
use jackfield_provider_ollama::client::Ollama;
use jackfield_provider_ollama::config::OllamaConfig;
use jackfield_testkit::contract::chat_model::{
    BlockKind, ChatModelHarness, Echo, Manner, RequestPart, ScriptedFailure, ScriptedFailureKind,
    VendorReply, WireReply,
};
use jackfield_testkit::server::RecordedRequest;
use serde_json::{Value, json};

use crate::{echo, rendering};

pub(crate) struct OllamaHarness;

pub(crate) const MODEL: &str = "qwen3:8b";

impl ChatModelHarness for OllamaHarness {
    type Model = Ollama;

    fn connect(&self, base_url: &str, key: &str) -> Ollama {
        let mut config = OllamaConfig::new(base_url).unwrap();
        config.key = Some(Secret::new(key));
        connect(config)
    }

    fn capabilities(&self) -> Capabilities {
        let mut can = Capabilities::NONE;
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
        "ollama"
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
        ]
    }

    fn never_sends(&self) -> &[(BlockKind, &str)] {
        &[
            (BlockKind::CallWithState, "nothing hangs on a call"),
            (
                BlockKind::CustomCall,
                "every function takes JSON; the adapter puts text into a field of it",
            ),
            (BlockKind::Refusal, "models refuse in plain text"),
            (BlockKind::TextWithState, "nothing hangs on a text"),
        ]
    }

    fn never_takes(&self) -> &[(RequestPart, &str)] {
        &[(
            RequestPart::MediaType,
            "images are their bytes alone, by which the server recognizes them",
        )]
    }

    fn counts_cached(&self) -> bool {
        false
    }

    fn echo(&self, request: &RecordedRequest) -> Echo {
        echo::read(&request.json())
    }

    fn render_failure(&self, failure: &ScriptedFailure) -> WireReply {
        let (status, body) = failed(failure);
        let wire = WireReply::json(status, body.to_string());
        match failure.kind {
            // By a proxy, or by ollama.com.
            ScriptedFailureKind::RateLimited(Some(delay)) => {
                wire.header("retry-after", delay.as_secs().to_string())
            }
            _ => wire,
        }
    }

    fn render_models(&self, ids: &[&str]) -> Option<Vec<WireReply>> {
        let models: Vec<Value> = ids.iter().map(|id| tag(id)).collect();
        let list = json!({ "models": models });
        Some(vec![WireReply::json(200, list.to_string())])
    }

    fn render_failure_event(&self, failure: &ScriptedFailure) -> Option<Bytes> {
        // A request is judged before a stream begins, and a line has no status.
        match failure.kind {
            ScriptedFailureKind::Overloaded | ScriptedFailureKind::ServerError => {
                Some(line(&failed(failure).1))
            }
            _ => None,
        }
    }

    fn unknown_events(&self) -> Vec<Bytes> {
        vec![
            "\n".into(),
            line(&json!({ "model": MODEL, "mood": ["fine"], "done": false })),
            line(
                &json!({ "model": MODEL, "message": { "role": "assistant", "content": "", "mood": 1 }, "done": false }),
            ),
        ]
    }

    fn broken_event(&self) -> Option<Bytes> {
        Some("{\"model\":\"qwen3:8b\",\"message\":{\"cont\n".into())
    }
}

pub(crate) fn connect(config: OllamaConfig) -> Ollama {
    let transport = Transport::new(TransportSettings::default()).unwrap();
    Ollama::new(config, transport).unwrap()
}

/// A line as it stands on the wire.
pub(crate) fn line(data: &Value) -> Bytes {
    format!("{data}\n").into()
}

/// A model as `/api/tags` lists it (`docs/api.md`).
pub(crate) fn tag(id: &str) -> Value {
    json!({
        "name": id,
        "model": id,
        "modified_at": "2026-05-10T08:06:48.639712648-07:00",
        "size": 5_225_388_164_u64,
        "digest": "500a1f067a9f782620b40bee6f7b0c89e17ae61f686b92c24933e4ca4b2b8b41",
        "details": { "format": "gguf", "family": "qwen3", "parameter_size": "8.2B", "quantization_level": "Q4_K_M" },
        "capabilities": ["completion", "tools", "thinking"],
    })
}

/// The status and the body of a failure: a text is all that there is.
fn failed(failure: &ScriptedFailure) -> (u16, Value) {
    let (status, words) = match failure.kind {
        ScriptedFailureKind::Forbidden => (403, failure.message.clone()),
        ScriptedFailureKind::InvalidRequest => (400, failure.message.clone()),
        ScriptedFailureKind::ModelNotFound => (404, failure.message.clone()),
        ScriptedFailureKind::Overloaded => (
            503,
            format!("server busy, please try again.  {}", failure.message),
        ),
        ScriptedFailureKind::RateLimited(_) => (429, failure.message.clone()),
        ScriptedFailureKind::ServerError => (500, failure.message.clone()),
        ScriptedFailureKind::Unauthenticated => (401, failure.message.clone()),
    };
    (status, json!({ "error": words }))
}
