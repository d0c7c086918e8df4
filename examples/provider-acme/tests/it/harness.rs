//! What acme sends, written by hand: the adapter's own mappers would only agree with themselves.

use bytes::Bytes;
use jackfield_domain::message::Role;
use jackfield_domain::reply::FinishReason;
use jackfield_domain::settings::Settings;
use jackfield_ports::chat_model::Capabilities;
use jackfield_provider_acme::Acme;
use jackfield_provider_kit::secret::Secret;
use jackfield_provider_kit::transport::{Transport, TransportSettings};
use jackfield_testkit::contract::chat_model::{
    BlockKind, ChatModelHarness, Echo, EchoedCall, EchoedOutcome, EchoedPart, EchoedTool, Manner,
    RequestPart, ScriptedBlock, ScriptedFailure, ScriptedFailureKind, VendorReply, WireReply,
};
use jackfield_testkit::server::RecordedRequest;
use serde_json::{Value, json};

pub(crate) struct AcmeHarness;

impl ChatModelHarness for AcmeHarness {
    type Model = Acme;

    fn connect(&self, base_url: &str, key: &str) -> Acme {
        let transport = Transport::new(TransportSettings::default()).expect("a transport");
        Acme::new(base_url, Some(Secret::new(key)), None, transport).expect("an adapter")
    }

    fn capabilities(&self) -> Capabilities {
        let mut can = Capabilities::NONE;
        can.parallel_calls = true;
        can.streaming = true;
        can.tools = true;
        can
    }

    fn model(&self) -> &str {
        "anvil-2"
    }

    fn provider(&self) -> &str {
        "acme"
    }

    fn render(&self, reply: &VendorReply) -> Option<WireReply> {
        if IMPOSSIBLE.iter().any(|(manner, _)| *manner == reply.manner) {
            return None;
        }
        let mut events = Vec::new();
        for block in &reply.blocks {
            match block {
                ScriptedBlock::Text { pieces, .. } => {
                    events.extend(pieces.iter().map(|piece| json!({ "text": piece })));
                }
                ScriptedBlock::ToolCall {
                    arguments,
                    id,
                    name,
                    ..
                } => call(reply.manner, (id, name, arguments), &mut events),
                ScriptedBlock::CustomCall { .. }
                | ScriptedBlock::Reasoning { .. }
                | ScriptedBlock::Refusal(_) => return None,
            }
        }
        let end = match &reply.finish {
            FinishReason::Length => "limit",
            FinishReason::Stop => "done",
            FinishReason::ToolCalls => "calls",
            FinishReason::Unrecognized(reason) => reason,
            FinishReason::ContentFilter
            | FinishReason::ContextFull
            | FinishReason::Paused
            | FinishReason::Refused
            | FinishReason::StopSequence(_) => return None,
        };
        let used = |output| {
            let usage = &reply.usage;
            json!({ "cached": usage.cache_read, "input": usage.input, "output": output })
        };
        if reply.manner == Manner::UsageMissing {
            events.push(json!({ "end": end }));
        } else {
            events.push(json!({ "used": used(1) }));
            events.push(json!({ "end": end, "used": used(reply.usage.output) }));
        }
        Some(WireReply::events(events.iter().map(event)))
    }

    fn impossible(&self) -> &[(Manner, &str)] {
        IMPOSSIBLE
    }

    fn usual(&self) -> &[Manner] {
        &[Manner::ArgumentsMissing]
    }

    fn never_sends(&self) -> &[(BlockKind, &str)] {
        &[
            (BlockKind::CustomCall, "acme's tools take JSON"),
            (BlockKind::Refusal, "acme's models refuse in plain text"),
        ]
    }

    fn never_takes(&self) -> &[(RequestPart, &str)] {
        &[(RequestPart::OutcomeTool, "an outcome has its call's id")]
    }

    fn echo(&self, request: &RecordedRequest) -> Echo {
        let body = request.json();
        let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let mut echo = Echo {
            settings: Settings {
                max_output_tokens: body["limit"]
                    .as_u64()
                    .and_then(|limit| limit.try_into().ok()),
                ..Settings::default()
            },
            system: text(&body, "system"),
            ..Echo::default()
        };
        for turn in list(&body["turns"]) {
            match turn["who"].as_str() {
                Some("model") => echo.say(Role::Assistant, text(&turn, "text")),
                Some("tool") => echo.parts.push(EchoedPart::Outcome(EchoedOutcome {
                    id: text(&turn, "call"),
                    text: text(&turn, "text"),
                    ..EchoedOutcome::default()
                })),
                _ => echo.say(Role::User, text(&turn, "text")),
            }
            for call in list(&turn["calls"]) {
                echo.parts.push(EchoedPart::Call(EchoedCall {
                    arguments: text(&call, "args"),
                    id: text(&call, "id"),
                    name: text(&call, "tool"),
                    state: None,
                }));
            }
        }
        for tool in list(&body["tools"]) {
            echo.tools.push(EchoedTool {
                description: text(&tool, "about"),
                name: text(&tool, "name"),
                schema: Some(tool["takes"].clone()),
                strict: None,
            });
        }
        echo
    }

    fn render_failure(&self, failure: &ScriptedFailure) -> WireReply {
        let (status, what) = name(failure.kind);
        let body = json!({ "error": { "say": failure.message, "what": what } });
        let wire = WireReply::json(status, body.to_string());
        match failure.kind {
            ScriptedFailureKind::RateLimited(Some(delay)) => {
                wire.header("retry-after", delay.as_secs().to_string())
            }
            _ => wire,
        }
    }

    fn render_failure_event(&self, failure: &ScriptedFailure) -> Option<Bytes> {
        let (_, what) = name(failure.kind);
        let error = json!({ "error": { "say": failure.message, "what": what } });
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

/// A call and its arguments, as this manner has them.
fn call(manner: Manner, (id, name, arguments): (&str, &str, &[String]), events: &mut Vec<Value>) {
    let mut call = json!({ "id": id, "tool": name });
    match manner {
        Manner::IdEmpty => call["id"] = json!(""),
        Manner::IdMissing => call = json!({ "tool": name }),
        Manner::IdSame => call["id"] = json!("call_1"),
        Manner::ArgumentsAtOnce => call["args"] = json!(arguments.concat()),
        _ => {}
    }
    events.push(json!({ "call": call }));
    if manner == Manner::ArgumentsEmpty && arguments.is_empty() {
        events.push(json!({ "args": "" }));
    }
    if manner != Manner::ArgumentsAtOnce {
        events.extend(arguments.iter().map(|piece| json!({ "args": piece })));
    }
}

fn event(value: &Value) -> Bytes {
    format!("data: {value}\n\n").into()
}

fn name(kind: ScriptedFailureKind) -> (u16, &'static str) {
    match kind {
        ScriptedFailureKind::Forbidden => (403, "forbidden"),
        ScriptedFailureKind::InvalidRequest => (400, "invalid"),
        ScriptedFailureKind::ModelNotFound => (404, "model"),
        ScriptedFailureKind::Overloaded => (503, "busy"),
        ScriptedFailureKind::RateLimited(_) => (429, "rate"),
        ScriptedFailureKind::ServerError => (500, "broken"),
        ScriptedFailureKind::Unauthenticated => (401, "key"),
    }
}

/// Acme has one server, and that keeps to its own documentation.
const IMPOSSIBLE: &[(Manner, &str)] = &[
    (Manner::ArgumentsAsObject, "arguments are text"),
    (
        Manner::ArgumentsAtEnd,
        "nothing ends a call but what follows it",
    ),
    (Manner::ArgumentsCumulative, "pieces are never repeated"),
    (
        Manner::ArgumentsInterleaved,
        "arguments belong to the last call",
    ),
    (Manner::ArgumentsNull, "arguments are text"),
    (Manner::CallsInOnePiece, "an event has one call"),
    (Manner::EndMarkerMissing, "nothing follows the end as it is"),
    (Manner::FinishSaysStop, "the end is never wrong"),
    (Manner::IndexMissing, "nothing is numbered"),
    (Manner::IndexNegative, "nothing is numbered"),
    (Manner::IndexOneBased, "nothing is numbered"),
    (Manner::IndexReused, "nothing is numbered"),
    (
        Manner::LaterIdAndNameEmpty,
        "a piece has neither id nor name",
    ),
    (Manner::NameLate, "a call begins with its name"),
    (Manner::NameRepeated, "a piece has no name"),
    (Manner::NotStreamed, "every reply is a stream"),
    (Manner::NullsForNothing, "an event has one field"),
    (Manner::RoleMissing, "an event has no role"),
    (Manner::RoleRepeated, "an event has no role"),
    (Manner::UsageApart, "the end is the last event"),
    (Manner::UsageInEachPiece, "an event has one field"),
];
