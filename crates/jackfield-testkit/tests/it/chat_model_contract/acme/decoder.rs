//! What acme's events say: words as they come, and calls once they are whole.

use jackfield_domain::block::{RanBy, UpstreamId};
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::failure::{ModelFailure, ModelFailureKind as Kind, Phase};
use jackfield_domain::opaque::{OpaqueState, StateOwner, StateScope};
use jackfield_domain::reply::{FinishReason, ReplyEnd};
use jackfield_domain::usage::Usage;
use serde_json::{Value, json};

use super::Fault;

pub(super) struct Decoder {
    pub(super) deltas: Vec<Delta>,
    calls: Vec<Call>,
    called: bool,
    fault: Fault,
    finish: Option<FinishReason>,
    index: u32,
    open: Option<Open>,
    owner: StateOwner,
    role: bool,
    usage: Option<Usage>,
}

/// A call that is not whole yet.
#[derive(Default)]
struct Call {
    arguments: String,
    free: bool,
    id: Option<String>,
    mark: Option<String>,
    name: String,
    number: Option<i64>,
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum Open {
    Refusal,
    Text,
    Thinking,
}

impl Decoder {
    pub(super) fn new(fault: Fault, owner: StateOwner) -> Self {
        Self {
            deltas: Vec::new(),
            calls: Vec::new(),
            called: false,
            fault,
            finish: None,
            index: 0,
            open: None,
            owner,
            role: false,
            usage: None,
        }
    }

    pub(super) fn line(&mut self, line: &[u8]) -> Result<bool, ModelFailure> {
        if line.is_empty() {
            return Ok(false);
        }
        match serde_json::from_slice(line) {
            Ok(event) => self.event(&event),
            Err(_) if self.fault == Fault::SkipsBroken => Ok(false),
            Err(fault) => Err(violation(&fault.to_string())),
        }
    }

    /// Takes an event; whether it was the last one.
    pub(super) fn event(&mut self, event: &Value) -> Result<bool, ModelFailure> {
        let fields = event.as_object().ok_or_else(|| violation("no event"))?;
        let fields = || fields.iter().filter(|(_, value)| !value.is_null());
        let known = |name: &str| KNOWN.contains(&name);
        let faulty = match self.fault {
            Fault::MindsExtras => fields().any(|(name, _)| name == "at"),
            Fault::MindsNulls => event["text"].is_null() && event.get("text").is_some(),
            Fault::MindsRoles => event["from"].is_string(),
            Fault::WantsKnownEvents => !fields().any(|(name, _)| known(name)),
            _ => false,
        };
        if faulty {
            return Err(violation("an event that acme does not send"));
        }
        self.role |= event["from"].is_string();
        if let Some(what) = event["error"]["what"].as_str() {
            if self.fault == Fault::TakesErrorsForEnds {
                self.close_all()?;
                self.finish = Some(FinishReason::Stop);
                return Ok(true);
            }
            let kind = match what {
                "invalid" => Kind::InvalidRequest,
                "broken" => Kind::ServerError,
                "key" => Kind::Unauthenticated,
                _ => Kind::Overloaded,
            };
            let say = event["error"]["say"].as_str().unwrap();
            return Err(ModelFailure::new(kind, Phase::BeforeFirstDelta, say));
        }
        self.count(&event["usage"]);
        if let Some(text) = event["think"].as_str() {
            self.words(Open::Thinking, text)?;
        }
        if let Some(seal) = event["seal"].as_str() {
            self.words(Open::Thinking, "")?;
            self.state("seal", seal);
            self.close();
        }
        let last = event["end"].is_string() && self.fault == Fault::DropsLastWords;
        if let Some(text) = event["text"].as_str().filter(|_| !last) {
            self.words(Open::Text, text)?;
            if let Some(mark) = event["mark"].as_str() {
                self.state("mark", mark);
            }
        }
        if let Some(text) = event["refuse"].as_str() {
            let open = if self.fault == Fault::RefusesInWords {
                Open::Text
            } else {
                Open::Refusal
            };
            self.words(open, text)?;
        }
        if event["call"].is_object() {
            self.begin_call(&event["call"]);
        }
        for call in event["calls"].as_array().into_iter().flatten() {
            self.begin_call(call);
            if self.fault == Fault::TakesFirstCall {
                break;
            }
        }
        if event["args"] != Value::Null || event["name"] != Value::Null {
            self.piece(event);
        }
        if self.fault != Fault::ReadsPiecesOnly {
            self.piece(&event["called"]);
        }
        if let Some(why) = event["end"].as_str() {
            self.ended(why)?;
            return Ok(self.fault == Fault::StopsAtEnd);
        }
        Ok(event["over"] == json!(true))
    }

    /// The end, if it is known why.
    pub(super) fn end(&self) -> Option<ReplyEnd> {
        let finish = self.finish.clone()?;
        Some(ReplyEnd {
            usage: self.usage,
            ..ReplyEnd::new(finish)
        })
    }

    /// The end of a reply that broke off, for whoever takes that for one.
    pub(super) fn broken_off(&mut self) -> Option<ReplyEnd> {
        let takes = match self.fault {
            Fault::TakesAnyEnd => true,
            Fault::TakesCallsForEnds => !self.calls.is_empty(),
            _ => false,
        };
        if takes && self.finish.is_none() {
            self.ended("stop").ok()?;
        }
        self.end()
    }

    fn ended(&mut self, why: &str) -> Result<(), ModelFailure> {
        if self.fault == Fault::MindsNulls && !self.role {
            return Err(violation("whose words are these?"));
        }
        if self.fault == Fault::TrustsReasons && why != "calls" {
            self.calls.clear();
        }
        self.close_all()?;
        self.finish = Some(match why {
            _ if self.fault == Fault::SaysStop => FinishReason::Stop,
            "stop" | "calls" if self.called => FinishReason::ToolCalls,
            "calls" => FinishReason::ToolCalls,
            "length" => FinishReason::Length,
            "stop" => FinishReason::Stop,
            other => FinishReason::Unrecognized(other.into()),
        });
        Ok(())
    }

    fn count(&mut self, usage: &Value) {
        let number = |name: &str| usage[name].as_u64();
        let Some(input) = number("input") else {
            return;
        };
        let cache_read = number("cached").unwrap();
        let more = Usage {
            cache_read,
            input: if self.fault == Fault::AddsCached {
                input + cache_read
            } else {
                input
            },
            output: number("output").unwrap(),
            reasoning: number("thought").unwrap(),
            ..Usage::default()
        };
        match &mut self.usage {
            Some(usage) if self.fault == Fault::SumsUsage => *usage += more,
            usage => *usage = Some(more),
        }
    }

    /// Words of a block that is perhaps open already.
    fn words(&mut self, open: Open, text: &str) -> Result<(), ModelFailure> {
        if self.called && self.fault == Fault::DropsLateWords {
            return Ok(());
        }
        if self.open != Some(open) {
            self.close_all()?;
            self.open = Some(open);
            self.deltas.push(Delta::BlockStarted {
                index: self.index,
                start: match open {
                    Open::Refusal => BlockStart::Refusal,
                    Open::Text => BlockStart::Text,
                    Open::Thinking => BlockStart::Thinking { redacted: false },
                },
            });
        }
        if !text.is_empty() && self.fault != Fault::KeepsLastPiece {
            self.deltas.push(Delta::TextAppended {
                index: self.index,
                text: text.into(),
            });
        }
        Ok(())
    }

    fn begin_call(&mut self, call: &Value) {
        let text = |name: &str| call[name].as_str().map(str::to_owned);
        let new = Call {
            arguments: String::new(),
            free: call["free"] == json!(true),
            id: text("id"),
            mark: text("mark"),
            name: text("name").unwrap_or_default(),
            number: call["n"].as_i64(),
        };
        let known = self.calls.iter_mut().find(|known| match self.fault {
            Fault::TrustsIds => known.id == new.id,
            Fault::TrustsNumbers => known.number == new.number,
            _ => false,
        });
        self.called = true;
        match known {
            Some(known) => known.name = new.name,
            None => self.calls.push(new),
        }
        self.piece(&json!({ "n": call["n"], "args": call["args"] }));
    }

    /// More of a call: of the last one with that number, if there is one, and of the last one else.
    fn piece(&mut self, piece: &Value) {
        let number = piece["n"].as_i64().filter(|number| *number >= 0);
        let numbered = self.calls.iter().rposition(|call| call.number == number);
        let place = numbered.filter(|_| number.is_some());
        let place = place.or_else(|| self.calls.len().checked_sub(1));
        let Some(call) = place.map(|place| &mut self.calls[place]) else {
            return;
        };
        if let Some(name) = piece["name"].as_str()
            && (call.name.is_empty() || self.fault == Fault::JoinsNames)
        {
            call.name.push_str(name);
        }
        if let (Some(name), Fault::KeepsLastName) = (piece["name"].as_str(), self.fault) {
            name.clone_into(&mut call.name);
        }
        match &piece["args"] {
            Value::String(text) if self.fault == Fault::KeepsLastPiece => {
                call.arguments.clone_from(text);
            }
            Value::String(text)
                if !call.arguments.is_empty() && text.starts_with(&call.arguments) =>
            {
                call.arguments.clone_from(text);
            }
            Value::String(text) => call.arguments.push_str(text),
            Value::Object(fields) if self.fault != Fault::ReadsPiecesOnly => {
                call.arguments = Value::Object(fields.clone()).to_string();
            }
            _ => {}
        }
    }

    /// State of the open block.
    fn state(&mut self, kind: &str, text: &str) {
        self.deltas.push(Delta::StateSet {
            index: self.index,
            state: OpaqueState {
                kind: kind.into(),
                json: json!(text),
                owner: self.owner.clone(),
                scope: StateScope::Block,
            },
        });
    }

    fn close(&mut self) {
        if self.open.take().is_some() {
            self.deltas.push(Delta::BlockEnded { index: self.index });
            self.index += 1;
        }
    }

    /// Ends what is open, and tells the calls that came.
    fn close_all(&mut self) -> Result<(), ModelFailure> {
        self.close();
        for call in std::mem::take(&mut self.calls) {
            if call.name.is_empty() {
                return Err(violation("a call without a name"));
            }
            let id = match self.fault {
                Fault::ForgetsIds => Some("1".to_owned()),
                _ => call.id,
            };
            let index = self.index;
            let upstream = id.map(|id| UpstreamId {
                id: id.into(),
                owner: self.owner.clone(),
            });
            let start = BlockStart::ToolCall {
                json: !call.free || self.fault == Fault::TakesAllForJson,
                name: call.name.into(),
                ran_by: RanBy::Engine,
                upstream,
            };
            let text = mended(self.fault, call.arguments).into();
            self.deltas.extend([
                Delta::BlockStarted { index, start },
                Delta::ArgumentsAppended { index, text },
            ]);
            if let Some(mark) = &call.mark {
                self.state("mark", mark);
            }
            self.deltas.push(Delta::BlockEnded { index });
            self.index += 1;
        }
        Ok(())
    }
}

/// Arguments as they came, unless something is wrong with the adapter.
fn mended(fault: Fault, arguments: String) -> String {
    let broken = |text: &str| serde_json::from_str::<Value>(text).is_err();
    match fault {
        Fault::MendsArguments if broken(&arguments) => "{}".to_owned(),
        Fault::RepairsArguments if broken(&arguments) => ["\"}", "}", "null}"]
            .map(|end| arguments.clone() + end)
            .into_iter()
            .find(|repaired| !broken(repaired))
            .unwrap_or(arguments),
        Fault::SendsNull if arguments.is_empty() => "null".to_owned(),
        _ => arguments,
    }
}

pub(super) fn violation(message: &str) -> ModelFailure {
    ModelFailure::new(Kind::ProtocolViolation, Phase::BeforeFirstDelta, message)
}

const KNOWN: &[&str] = &[
    "args", "call", "called", "calls", "end", "error", "from", "mark", "name", "over", "refuse",
    "seal", "text", "think", "usage",
];
