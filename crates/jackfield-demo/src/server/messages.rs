//! `POST /v1/messages`: a body in, the model's reply out.
//!
//! `max_tokens`, stop sequences and everything about sampling and thinking are taken and have no effect:
//! the rules say what they say.

use std::sync::Arc;

use bytes::Bytes;
use jackfield_dialect_claude::options::Profile;
use jackfield_dialect_claude::request::{self, Incoming};
use jackfield_dialect_claude::stream::{Encoder, SseEvent};
use jackfield_dialect_claude::{DIALECT, reply};
use jackfield_dialect_rules::claude;
use jackfield_domain::accumulator::{ProtocolViolation, ReplyAccumulator};
use jackfield_domain::block::RanBy;
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::digest::Digest;
use jackfield_domain::ids::{InvalidId, ModelAttempt, SessionId, TurnId};
use jackfield_domain::message::Messages;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::reply::{FinishReason, ReplyEnd};
use jackfield_domain::request::{ModelRef, ModelRequest};
use jackfield_domain::tool::Catalog;
use jackfield_domain::usage::Usage;
use serde_json::Value;

use super::refusal::DemoRefusal;
use super::routes::RouteAnswer;
use crate::brain::{self, DemoReply};

pub(super) fn answer(body: &[u8]) -> Result<RouteAnswer, DemoRefusal> {
    let json = serde_json::from_slice(body)
        .map_err(|fault| DemoRefusal::invalid(format!("the body is not JSON: {fault}")))?;
    if let Some(broken) = claude::check(&json, &Profile::of(brain::NAME)).first() {
        let at = if broken.path.is_empty() {
            "body"
        } else {
            &broken.path
        };
        return Err(DemoRefusal::invalid(format!("{at}: {}", broken.rule)));
    }
    let parsed =
        request::parse(body).map_err(|invalid| DemoRefusal::invalid(invalid.to_string()))?;
    if parsed.model != brain::NAME {
        let message = format!("model: {} (there is only {})", parsed.model, brain::NAME);
        return Err(DemoRefusal::not_found(message));
    }
    let owner = StateOwner {
        dialect: DIALECT.into(),
        endpoint: "http://127.0.0.1".into(),
        model: brain::NAME.into(),
    };
    let incoming = request::from_wire(parsed, &owner)
        .map_err(|invalid| DemoRefusal::invalid(invalid.to_string()))?;
    let stream = incoming.stream;
    let saying = brain::reply(&model_request(incoming));
    let said = ReplyWriter::new(&saying, body)?;
    Ok(if stream {
        said.events()?
    } else {
        said.whole()?
    })
}

/// A reply on its way out.
struct ReplyWriter {
    deltas: Vec<Delta>,
    end: ReplyEnd,
    id: String,
    turn: TurnId,
}

impl ReplyWriter {
    /// Ids are hashes of the body: a request that is sent again gets the same reply to the letter, and
    /// no two calls of a conversation have the same id.
    fn new(saying: &DemoReply, body: &[u8]) -> Result<Self, DemoRefusal> {
        let mut hash = Digest::of(body).to_hex();
        hash.truncate(24);
        let session = SessionId::parse(&hash)?;
        let deltas = deltas(saying);
        let said: usize = deltas.iter().map(size).sum();
        let finish = if saying.calls.is_empty() {
            FinishReason::Stop
        } else {
            FinishReason::ToolCalls
        };
        let mut end = ReplyEnd::new(finish);
        end.model = Some(brain::NAME.into());
        end.usage = Some(Usage {
            input: tokens(body.len()),
            output: tokens(said),
            ..Usage::default()
        });
        Ok(Self {
            deltas,
            end,
            id: format!("msg_{hash}"),
            turn: TurnId::derive(&session, 1),
        })
    }

    fn whole(self) -> Result<RouteAnswer, DemoRefusal> {
        let mut accumulator = ReplyAccumulator::new(self.turn, ATTEMPT);
        for delta in &self.deltas {
            accumulator.push(delta)?;
        }
        let whole = accumulator.finish(self.end, &Catalog::default())?;
        let (message, _notes) = reply::to_wire(&whole, brain::NAME, &self.id);
        let json = serde_json::to_value(message).unwrap_or(Value::Null);
        Ok(RouteAnswer::Whole(json))
    }

    fn events(self) -> Result<RouteAnswer, DemoRefusal> {
        let mut accumulator = ReplyAccumulator::new(self.turn, ATTEMPT);
        let begins_with = Usage {
            output: 0,
            ..self.end.usage.unwrap_or_default()
        };
        let mut encoder = Encoder::new(self.id, brain::NAME).with_usage(begins_with);
        let mut events = encoder.begin();
        for delta in &self.deltas {
            accumulator.push(delta)?;
            events.extend(encoder.push_as(delta, accumulator.call_id(delta.index()).as_ref()));
        }
        events.extend(encoder.finish(&self.end));
        Ok(RouteAnswer::Events(events.iter().map(line).collect()))
    }
}

impl From<ProtocolViolation> for DemoRefusal {
    fn from(fault: ProtocolViolation) -> Self {
        Self::broken(fault.to_string())
    }
}

impl From<InvalidId> for DemoRefusal {
    fn from(fault: InvalidId) -> Self {
        Self::broken(fault.to_string())
    }
}

fn model_request(incoming: Incoming) -> ModelRequest {
    ModelRequest {
        choice: incoming.choice,
        messages: Messages::from_iter(incoming.messages),
        model: ModelRef {
            model: incoming.model,
            provider: "demo".into(),
        },
        turn: None,
        settings: Arc::new(incoming.settings),
        strict: None,
        system: Arc::new(incoming.system),
        tools: Arc::new(incoming.tools),
        searchable: Arc::default(),
        tools_as_text: false,
        whole: false,
    }
}

/// The pieces of a reply: word by word, as a person reads it.
fn deltas(saying: &DemoReply) -> Vec<Delta> {
    let mut deltas = vec![Delta::BlockStarted {
        index: 0,
        start: BlockStart::Text,
    }];
    deltas.extend(words(&saying.text).map(|word| Delta::TextAppended {
        index: 0,
        text: word.into(),
    }));
    deltas.push(Delta::BlockEnded { index: 0 });
    for (index, call) in (1..).zip(&saying.calls) {
        deltas.push(Delta::BlockStarted {
            index,
            start: BlockStart::ToolCall {
                json: true,
                name: call.tool.as_str().into(),
                ran_by: RanBy::Engine,
                upstream: None,
            },
        });
        let arguments = Value::Object(call.arguments.clone()).to_string();
        deltas.extend(words(&arguments).map(|piece| Delta::ArgumentsAppended {
            index,
            text: piece.into(),
        }));
        deltas.push(Delta::BlockEnded { index });
    }
    deltas
}

/// The words of a text with the spaces after them; a Chinese character is a word.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let ends_word = |c: char| c.is_whitespace() || ('\u{2e80}'..'\u{10000}').contains(&c);
    text.split_inclusive(ends_word)
}

fn size(delta: &Delta) -> usize {
    match delta {
        Delta::ArgumentsAppended { text, .. } | Delta::TextAppended { text, .. } => text.len(),
        Delta::AnnotationAdded { .. }
        | Delta::BlockEnded { .. }
        | Delta::BlockStarted { .. }
        | Delta::StateSet { .. } => 0,
    }
}

/// A rough count: a quarter of the bytes.
fn tokens(bytes: usize) -> u64 {
    u64::try_from(bytes.div_ceil(4)).unwrap_or(u64::MAX)
}

fn line(event: &SseEvent) -> Bytes {
    event.to_string().into()
}

const ATTEMPT: ModelAttempt = ModelAttempt {
    round: 1,
    attempt: 1,
};
