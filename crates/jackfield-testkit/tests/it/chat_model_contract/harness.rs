//! How acme puts things on the wire: one JSON value per line or event, and nothing else.

use bytes::Bytes;
use jackfield_domain::reply::FinishReason;
use jackfield_ports::chat_model::Capabilities;
use jackfield_testkit::contract::chat_model::{
    BlockKind, ChatModelHarness, Echo, EchoedCall, EchoedPart, Manner, Recording, RequestPart,
    ScriptedBlock, ScriptedFailure, ScriptedFailureKind, VendorReply, WireReply,
};
use jackfield_testkit::server::RecordedRequest;
use serde_json::{Value, json};

use super::acme::{Acme, Fault, Form};
use super::calls::Calls;
use super::echo;

pub(super) struct AcmeHarness(pub(super) Fault, pub(super) Form);

impl ChatModelHarness for AcmeHarness {
    type Model = Acme;

    fn connect(&self, base_url: &str, key: &str) -> Acme {
        Acme {
            address: base_url.trim_start_matches("http://").to_owned(),
            fault: self.0,
            form: self.1,
            key: key.to_owned(),
        }
    }

    fn capabilities(&self) -> Capabilities {
        self.1.capabilities()
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
        let skipped = [Manner::IndexReused, Manner::NameLate];
        if self.0 == Fault::SkipsManners && skipped.contains(&manner) {
            return None;
        }
        let is_word = |block: &ScriptedBlock| match block {
            ScriptedBlock::Text { state, .. } => state.is_none(),
            _ => false,
        };
        if self.1 == Form::Words && !reply.blocks.iter().all(is_word) {
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
                ScriptedBlock::Text { pieces, state } => {
                    let first = lines.len();
                    lines.extend(told("text", pieces));
                    if let Some(state) = state {
                        lines[first]["mark"] = json!(state);
                    }
                }
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
        let mut end = json!({ "end": why });
        let is_text = |line: &Value| line["text"].is_string();
        let last_words = lines.iter().rposition(is_text);
        if let (Form::Crlf, Some(ScriptedBlock::Text { .. }), Some(place)) =
            (self.1, reply.blocks.last(), last_words)
        {
            let words = lines.remove(place);
            end["text"] = words["text"].clone();
            end["mark"] = words["mark"].clone();
        }
        lines.push(end);
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
        if manner == Manner::NotStreamed || self.1 == Form::Words {
            let document = json!({ "events": lines }).to_string();
            return Some(WireReply::json(200, document));
        }
        let mut wire = WireReply::events(lines.iter().map(|line| self.piece(line)));
        wire.ending = ending;
        Some(wire)
    }

    fn impossible(&self) -> &[(Manner, &str)] {
        if self.0 == Fault::NamesManners {
            return &[(Manner::NameLate, "nobody does that")];
        }
        &[]
    }

    fn usual(&self) -> &[Manner] {
        match self.0 {
            Fault::NamesUsual => &[Manner::ArgumentsMissing, Manner::NameLate],
            Fault::SkipsUsual => &[],
            _ => &[Manner::ArgumentsMissing],
        }
    }

    fn never_sends(&self) -> &[(BlockKind, &str)] {
        match self.1 {
            Form::Crlf | Form::Lines => &[],
            Form::Words => &[(BlockKind::Refusal, "it refuses in words")],
        }
    }

    fn never_takes(&self) -> &[(RequestPart, &str)] {
        if self.0 == Fault::NamesParts {
            return &[(RequestPart::OutcomeTool, "an outcome has an id")];
        }
        match self.1 {
            Form::Crlf => &[(RequestPart::CallId, "an outcome stands at its call's place")],
            Form::Lines | Form::Words => &[],
        }
    }

    fn echo(&self, request: &RecordedRequest) -> Echo {
        if self.0 == Fault::RemembersReplies {
            // What it hopes for, whatever was sent.
            let mut echo = echo::read(&request.json());
            for part in &mut echo.parts {
                if let EchoedPart::Call(EchoedCall { id, .. }) = part {
                    "call_of_another_dream".clone_into(id);
                }
            }
            return echo;
        }
        echo::read(&request.json())
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
            wire: WireReply::events(lines.map(|line| self.framed(line))),
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
        if self.0 == Fault::RendersNothing || self.1 == Form::Words {
            return None;
        }
        let (_, what) = name(failure.kind);
        let error = json!({ "error": { "what": what, "say": failure.message } });
        Some(self.piece(&error))
    }

    fn unknown_events(&self) -> Vec<Bytes> {
        let blank = match self.1 {
            Form::Crlf => ": a comment\r\n\r\n",
            Form::Lines => "\n",
            Form::Words => return Vec::new(),
        };
        vec![self.piece(&json!({ "weather": "fine" })), blank.into()]
    }

    fn broken_event(&self) -> Option<Bytes> {
        (self.1 != Form::Words).then(|| self.framed("{\"text\": \"on"))
    }
}

impl AcmeHarness {
    fn piece(&self, value: &Value) -> Bytes {
        self.framed(&value.to_string())
    }

    fn framed(&self, text: &str) -> Bytes {
        let framed = match self.1 {
            Form::Crlf => format!("data: {text}\r\n\r\n"),
            Form::Lines | Form::Words => format!("{text}\n"),
        };
        framed.into()
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
