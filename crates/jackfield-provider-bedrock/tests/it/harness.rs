//! How Bedrock puts things on the wire, written by hand from the service model of `botocore` 1.44.8 (2026-11).

use bytes::Bytes;
use jackfield_ports::chat_model::Capabilities;
use jackfield_provider_bedrock::client::Bedrock;
use jackfield_provider_bedrock::config::BedrockConfig;
use jackfield_provider_bedrock::credentials::Credentials;
use jackfield_provider_kit::secret::Secret;
use jackfield_provider_kit::transport::{Transport, TransportSettings};
use jackfield_testkit::contract::chat_model::{
    BlockKind, ChatModelHarness, Echo, Manner, RequestPart, ScriptedFailure, ScriptedFailureKind,
    VendorReply, WireReply,
};
use jackfield_testkit::server::RecordedRequest;
use jackfield_testservers::bedrock::frame;
use serde_json::{Value, json};

use crate::{echo, rendering};

pub(crate) struct BedrockHarness;

pub(crate) const MODEL: &str = "us.anthropic.claude-sonnet-4-5-20250929-v1:0";

impl ChatModelHarness for BedrockHarness {
    type Model = Bedrock;

    fn connect(&self, base_url: &str, key: &str) -> Bedrock {
        let mut config = BedrockConfig::new(base_url).unwrap();
        config.credentials = Some(Credentials::Bearer(Secret::new(key)));
        connect(config)
    }

    fn capabilities(&self) -> Capabilities {
        let mut can = Capabilities::NONE;
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
        "aws.bedrock"
    }

    fn render(&self, reply: &VendorReply) -> Option<WireReply> {
        rendering::render(reply)
    }

    fn impossible(&self) -> &[(Manner, &str)] {
        rendering::IMPOSSIBLE
    }

    fn usual(&self) -> &[Manner] {
        &[Manner::UsageApart]
    }

    fn never_sends(&self) -> &[(BlockKind, &str)] {
        &[
            (BlockKind::CallWithState, "nothing hangs on a call"),
            (
                BlockKind::CustomCall,
                "every tool takes JSON; the adapter puts text into a field of it",
            ),
            (BlockKind::Refusal, "models refuse in plain text"),
            (BlockKind::TextWithState, "nothing hangs on a text"),
        ]
    }

    fn never_takes(&self) -> &[(RequestPart, &str)] {
        &[
            (
                RequestPart::MediaType,
                "a format is a word of its own, such as `png`",
            ),
            (RequestPart::OutcomeTool, "a result goes by its call's id"),
        ]
    }

    fn echo(&self, request: &RecordedRequest) -> Echo {
        echo::read(&request.json())
    }

    fn render_failure(&self, failure: &ScriptedFailure) -> WireReply {
        let (status, kind) = failed(failure.kind);
        let body = json!({ "message": failure.message }).to_string();
        let wire = WireReply::json(status, body)
            .header(
                "x-amzn-errortype",
                format!("{kind}:http://internal.amazon.com/coral/"),
            )
            .header("x-amzn-requestid", "7a1b");
        match failure.kind {
            // By a proxy.
            ScriptedFailureKind::RateLimited(Some(delay)) => {
                wire.header("retry-after", delay.as_secs().to_string())
            }
            _ => wire,
        }
    }

    fn render_failure_event(&self, failure: &ScriptedFailure) -> Option<Bytes> {
        // A stream has exceptions of these kinds alone.
        let name = match failure.kind {
            ScriptedFailureKind::InvalidRequest => "validationException",
            ScriptedFailureKind::Overloaded => "serviceUnavailableException",
            ScriptedFailureKind::RateLimited(_) => "throttlingException",
            ScriptedFailureKind::ServerError => "modelStreamErrorException",
            _ => return None,
        };
        let payload = json!({ "message": failure.message }).to_string();
        Some(frame::exception(name, &payload).into())
    }

    fn unknown_events(&self) -> Vec<Bytes> {
        vec![
            event("initial-response", &json!({})),
            event("mood", &json!({ "contentBlockIndex": "fine" })),
            frame::event("mood", "fine, and not JSON").into(),
            event(
                "contentBlockDelta",
                &json!({ "contentBlockIndex": 77, "delta": { "mood": 1 } }),
            ),
        ]
    }

    fn broken_event(&self) -> Option<Bytes> {
        Some(frame::event("contentBlockDelta", "{\"contentBlockIndex\":0,\"del").into())
    }
}

pub(crate) fn connect(config: BedrockConfig) -> Bedrock {
    let transport = Transport::new(TransportSettings::default()).unwrap();
    Bedrock::new(config, transport).unwrap()
}

/// An event as it stands on the wire.
pub(crate) fn event(kind: &str, data: &Value) -> Bytes {
    frame::event(kind, &data.to_string()).into()
}

/// The status and the name of a failure.
fn failed(kind: ScriptedFailureKind) -> (u16, &'static str) {
    match kind {
        ScriptedFailureKind::Forbidden => (403, "AccessDeniedException"),
        ScriptedFailureKind::InvalidRequest => (400, "ValidationException"),
        ScriptedFailureKind::ModelNotFound => (404, "ResourceNotFoundException"),
        ScriptedFailureKind::Overloaded => (503, "ServiceUnavailableException"),
        ScriptedFailureKind::RateLimited(_) => (429, "ThrottlingException"),
        ScriptedFailureKind::ServerError => (500, "InternalServerException"),
        ScriptedFailureKind::Unauthenticated => (403, "UnrecognizedClientException"),
    }
}
