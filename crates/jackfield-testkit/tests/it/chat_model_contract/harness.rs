//! How acme puts things on the wire: one JSON value per line, and nothing else.

use bytes::Bytes;
use jackfield_domain::reply::FinishReason;
use jackfield_ports::chat_model::Capabilities;
use jackfield_testkit::contract::chat_model::{
    BlockKind, ChatModelHarness, Echo, EchoedCall, EchoedOutcome, EchoedReasoning, Manner,
    Recording, ScriptedBlock, ScriptedFailure, ScriptedFailureKind, VendorReply, WireReply,
};
use jackfield_testkit::server::RecordedRequest;
use serde_json::{Value, json};

use super::acme::{Acme, Fault};
use super::calls::Calls;

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

    fn render(&self, reply: &VendorReply) -> Option<WireReply> {
        let mut usual = None;
        if self.0 == Fault::RendersAsUsual && reply.manner == Manner::IndexReused {
            usual = Some(reply.clone().with_manner(Manner::Usual));
        }
        if self.0 == Fault::RendersAlike && reply.manner == Manner::IndexReused {
            usual = Some(reply.clone().with_manner(Manner::IndexNegative));
        }
        if self.0 == Fault::RendersNothing && reply.manner == Manner::Usual && is_broken(reply) {
            return None;
        }
        let reply = usual.as_ref().unwrap_or(reply);
        let manner = reply.manner;
        if self.0 == Fault::SkipsManners && manner == Manner::NameLate {
            return None;
        }
        let mut lines = Vec::new();
        if manner != Manner::RoleMissing {
            lines.push(json!({ "from": "anvil" }));
        }
        let mut calls = Calls::new(reply);
        for block in &reply.blocks {
            if calls.take(block) {
                continue;
            }
            lines.append(&mut calls.events());
            let told = |name: &str, pieces: &[String]| -> Vec<Value> {
                pieces.iter().map(|piece| json!({ name: piece })).collect()
            };
            match block {
                ScriptedBlock::Reasoning { pieces, state } => {
                    lines.extend(told("think", pieces));
                    lines.push(json!({ "seal": state }));
                }
                ScriptedBlock::Refusal(pieces) => lines.extend(told("refuse", pieces)),
                ScriptedBlock::Text(pieces) => lines.extend(told("text", pieces)),
                ScriptedBlock::CustomCall { .. } | ScriptedBlock::ToolCall { .. } => {}
            }
        }
        lines.append(&mut calls.events());
        let why = match &reply.finish {
            FinishReason::ToolCalls if manner == Manner::FinishSaysStop => "stop",
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
        let usage = |output| {
            let used = &reply.usage;
            json!({
                "input": used.input, "cached": used.cache_read, "output": output,
                "thought": used.reasoning,
            })
        };
        match manner {
            Manner::UsageMissing | Manner::UsageApart => {}
            Manner::UsageInEachPiece => {
                for line in &mut lines {
                    line["usage"] = usage(1);
                }
            }
            _ => lines.push(json!({ "usage": usage(1) })),
        }
        if manner != Manner::UsageMissing && manner != Manner::UsageApart {
            lines.push(json!({ "usage": usage(reply.usage.output) }));
        }
        lines.push(json!({ "end": why }));
        let ending = lines.len();
        if manner == Manner::UsageApart {
            lines.push(json!({ "usage": usage(reply.usage.output) }));
        }
        if manner != Manner::EndMarkerMissing {
            lines.push(json!({ "over": true }));
        }
        for line in &mut lines {
            if manner == Manner::RoleRepeated {
                line["from"] = json!("anvil");
            }
            for name in ["args", "call", "end", "text", "usage"] {
                if manner == Manner::NullsForNothing && line.get(name).is_none() {
                    line[name] = Value::Null;
                }
            }
        }
        if manner == Manner::NotStreamed {
            let document = json!({ "events": lines }).to_string();
            return Some(WireReply::json(200, document));
        }
        let mut wire = WireReply::events(lines.iter().map(line));
        wire.ending = ending;
        Some(wire)
    }

    fn impossible(&self) -> &[(Manner, &str)] {
        if self.0 == Fault::NamesManners {
            return &[(Manner::NameLate, "nobody does that")];
        }
        &[]
    }

    fn never_sends(&self) -> &[(BlockKind, &str)] {
        &[]
    }

    fn echo(&self, request: &RecordedRequest) -> Echo {
        let mut echo = Echo::default();
        let body = request.json();
        if self.0 == Fault::RemembersReplies {
            // What it hopes for, whatever was sent.
            let one = |id: &str| EchoedCall {
                arguments: String::new(),
                id: id.to_owned(),
                name: "weather".to_owned(),
            };
            echo.calls.push(one("call_of_another_dream"));
            return echo;
        }
        let messages = body["messages"].as_array().into_iter().flatten();
        for part in messages.flat_map(|parts| parts.as_array().into_iter().flatten()) {
            let text = |name: &str| part[name].as_str().map(str::to_owned);
            if let Some(id) = text("call") {
                echo.calls.push(EchoedCall {
                    arguments: text("args").unwrap(),
                    id,
                    name: text("name").unwrap(),
                });
            }
            if let Some(id) = text("outcome") {
                let text = text("say").unwrap();
                echo.outcomes.push(EchoedOutcome { id, text });
            }
            if let Some(words) = text("think") {
                echo.reasoning.push(EchoedReasoning {
                    state: text("seal"),
                    text: Some(words),
                });
            }
        }
        echo
    }

    fn recordings(&self) -> Vec<Recording> {
        let lines = [
            r#"{"from":"anvil","at":"09:14:02"}"#,
            r#"{"text":"Kaldt, ","at":"09:14:03"}"#,
            r#"{"text":"−3 °C 🌨","at":"09:14:03"}"#,
            r#"{"usage":{"input":25,"cached":10,"output":7,"thought":0},"at":"09:14:04"}"#,
            r#"{"end":"stop"}"#,
            r#"{"over":true}"#,
        ];
        vec![Recording {
            name: "the weather in Oslo".to_owned(),
            meaning: VendorReply::text(&["Kaldt, −3 °C 🌨"]),
            wire: WireReply::events(lines.map(|line| format!("{line}\n"))),
        }]
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
        if self.0 == Fault::RendersNothing {
            return None;
        }
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

/// Whether a call has arguments that are no object.
fn is_broken(reply: &VendorReply) -> bool {
    reply.blocks.iter().any(|block| match block {
        ScriptedBlock::ToolCall { arguments, .. } => {
            let arguments = arguments.concat();
            let object = serde_json::from_str::<serde_json::Map<String, Value>>(&arguments);
            !arguments.is_empty() && object.is_err()
        }
        _ => false,
    })
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
