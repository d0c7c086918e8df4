//! What the vendor sends, by hand: the adapter's own mappers would only agree with themselves.

use bytes::Bytes;
use jackfield_domain::message::Role;
use jackfield_domain::reply::FinishReason;
use jackfield_domain::settings::Settings;
use jackfield_ports::chat_model::Capabilities;
use jackfield_provider_kit::secret::Secret;
use jackfield_provider_kit::transport::{Transport, TransportSettings};
use jackfield_testkit::contract::chat_model::{
    ChatModelHarness, Echo, Manner, ScriptedBlock, ScriptedFailure, ScriptedFailureKind,
    VendorReply, WireReply,
};
use jackfield_testkit::server::RecordedRequest;
use provider_brook::BrookModel;
use serde_json::{Value, json};

pub(crate) struct BrookHarness;

impl ChatModelHarness for BrookHarness {
    type Model = BrookModel;

    fn connect(&self, base_url: &str, key: &str) -> BrookModel {
        let transport = Transport::new(TransportSettings::default()).expect("a transport");
        BrookModel::new(base_url, Some(Secret::new(key)), None, transport).expect("an adapter")
    }

    fn capabilities(&self) -> Capabilities {
        let mut can = Capabilities::NONE;
        can.streaming = true;
        can.tools = true;
        can
    }

    /// To do: the name of a model.
    fn model(&self) -> &str {
        "brook-1"
    }

    fn provider(&self) -> &str {
        "brook"
    }

    /// To do: calls, usage, finish reasons and manners. What the vendor cannot send is named, with the reason, by
    /// `impossible` and `never_sends`.
    fn render(&self, reply: &VendorReply) -> Option<WireReply> {
        if reply.manner != Manner::Usual {
            return None;
        }
        let mut events = Vec::new();
        for block in &reply.blocks {
            match block {
                ScriptedBlock::Text { pieces, .. } => {
                    events.extend(pieces.iter().map(|piece| json!({ "text": piece })));
                }
                ScriptedBlock::CustomCall { .. }
                | ScriptedBlock::Reasoning { .. }
                | ScriptedBlock::Refusal(_)
                | ScriptedBlock::ToolCall { .. } => return None,
            }
        }
        let done = match &reply.finish {
            FinishReason::Stop => "stop",
            FinishReason::Length => "length",
            FinishReason::Unrecognized(reason) => reason,
            _ => return None,
        };
        events.push(json!({ "done": done }));
        Some(WireReply::events(events.iter().map(event)))
    }

    /// What a request says. To do: calls, outcomes, tools, the choice among them, and every setting that the vendor
    /// has. What the vendor has no place for is named, with the reason, by `never_takes`.
    fn echo(&self, request: &RecordedRequest) -> Echo {
        let body = request.json();
        let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
        let limit = body["max_tokens"].as_u64();
        let mut echo = Echo {
            settings: Settings {
                max_output_tokens: limit.and_then(|limit| limit.try_into().ok()),
                ..Settings::default()
            },
            system: text(&body, "system"),
            ..Echo::default()
        };
        for message in body["messages"].as_array().into_iter().flatten() {
            let role = match message["role"].as_str() {
                Some("assistant") => Role::Assistant,
                _ => Role::User,
            };
            echo.say(role, text(message, "text"));
        }
        echo
    }

    /// To do: the vendor's statuses, codes and bodies.
    fn render_failure(&self, failure: &ScriptedFailure) -> WireReply {
        let status = match failure.kind {
            ScriptedFailureKind::Forbidden => 403,
            ScriptedFailureKind::InvalidRequest => 400,
            ScriptedFailureKind::ModelNotFound => 404,
            ScriptedFailureKind::Overloaded => 529,
            ScriptedFailureKind::RateLimited(_) => 429,
            ScriptedFailureKind::ServerError => 500,
            ScriptedFailureKind::Unauthenticated => 401,
        };
        let body = json!({ "error": { "message": failure.message } });
        let wire = WireReply::json(status, body.to_string());
        match failure.kind {
            ScriptedFailureKind::RateLimited(Some(delay)) => {
                wire.header("retry-after", delay.as_secs().to_string())
            }
            _ => wire,
        }
    }

    /// To do: the code by which the vendor tells the kinds apart.
    fn render_failure_event(&self, failure: &ScriptedFailure) -> Option<Bytes> {
        let error = json!({ "error": { "message": failure.message } });
        Some(event(&error))
    }

    fn unknown_events(&self) -> Vec<Bytes> {
        vec![
            event(&json!({ "weather": "fine" })),
            ": still here\n\n".into(),
        ]
    }

    fn broken_event(&self) -> Option<Bytes> {
        Some("data: {\"text\": \"on\n\n".into())
    }
}

fn event(value: &Value) -> Bytes {
    format!("data: {value}\n\n").into()
}
