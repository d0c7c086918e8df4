//! Segments of turns: several rounds, told as one reply.

use std::sync::Arc;

use jackfield_dialect_kit::encode::SseEvent;
use jackfield_dialect_kit::serve::{EncodeReply, ReplyInfo, ServeDialect};
use jackfield_domain::block::{Block, CalledName, Content, RanBy, Thinking, ToolCall};
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::ids::ToolCallId;
use jackfield_domain::message::{Message, Role};
use jackfield_domain::outcome::{ToolOutcome, ToolResult};
use jackfield_domain::reply::{FinishReason, Reply, ReplyEnd};
use jackfield_domain::round_break::RoundBreak;
use jackfield_domain::server_tool::ServerTool;
use jackfield_domain::tool::ToolOrigin;
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use jackfield_domain::usage::Usage;
use jackfield_testkit::arb as kit;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::super::arb;

/// Rounds of one segment, and how it ends.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    pub(crate) end: ReplyEnd,
    pub(crate) rounds: Vec<Vec<Block>>,
}

impl Segment {
    pub(crate) fn reply(&self) -> Reply {
        let blocks: Vec<Block> = self.rounds.concat();
        Reply {
            end: self.end.clone(),
            message: Arc::new(Message::new(Role::Assistant, blocks)),
        }
    }

    /// The events of these pieces of it.
    pub(crate) fn events(
        &self,
        dialect: &dyn ServeDialect,
        about: &ReplyInfo,
        deltas: &[Delta],
    ) -> Vec<SseEvent> {
        let mut encoder = dialect.encoder(about);
        let mut events = self.pushed(&mut *encoder, deltas);
        events.extend(encoder.finish(&self.end));
        events
    }

    /// What is told of these pieces, each call with our id of it.
    pub(crate) fn pushed(&self, encoder: &mut dyn EncodeReply, deltas: &[Delta]) -> Vec<SseEvent> {
        let message = self.reply().message;
        let mut ids = message.calls().map(|call| call.id.clone());
        let mut events = encoder.begin();
        for delta in deltas {
            let begins = matches!(
                delta,
                Delta::BlockStarted {
                    start: BlockStart::ToolCall { .. },
                    ..
                }
            );
            let id = if begins { ids.next() } else { None };
            events.extend(encoder.push(delta, id.as_ref()));
        }
        events
    }
}

/// Segments of one to three rounds, with tools of both sides.
pub(crate) fn segment() -> impl Strategy<Value = (Segment, Vec<Delta>)> {
    let rounds = vec((arb::reply(), any::<bool>()), 1..4);
    let segment = rounds.prop_map(|rounds| {
        let last = rounds.len() - 1;
        let mut end = rounds[last].0.end.clone();
        end.usage = Some(Usage {
            input: 10,
            output: 5,
            ..Usage::default()
        });
        let mut taken = 0;
        let rounds = rounds.into_iter().enumerate().map(|(n, (reply, shown))| {
            let mut blocks = round(reply.message.blocks.clone(), n == last, shown, &mut taken);
            let mut words = blocks.iter_mut();
            let words = words.find(|block| matches!(block.content, Content::Text(_)));
            if let (Some(words), true) = (words, n > 0) {
                words.opaque.push(RoundBreak::state());
            }
            blocks
        });
        let rounds = rounds.collect();
        Segment { end, rounds }
    });
    segment.prop_flat_map(|segment| {
        let pieces: Vec<_> = segment
            .rounds
            .iter()
            .map(|blocks| kit::deltas_of(blocks).prop_map(told_apart))
            .collect();
        (Just(segment), pieces.prop_map(|pieces| pieces.concat()))
    })
}

/// The same pieces, with what tells words apart in front of the words, as it comes.
fn told_apart(deltas: Vec<Delta>) -> Vec<Delta> {
    let (apart, mut rest): (Vec<Delta>, Vec<Delta>) =
        deltas.into_iter().partition(|delta| match delta {
            Delta::StateSet { state, .. } => RoundBreak::is_marked(std::slice::from_ref(state)),
            _ => false,
        });
    let words = |delta: &Delta| {
        matches!(
            delta,
            Delta::BlockStarted {
                start: BlockStart::Text,
                ..
            }
        )
    };
    if let (Some(_), Some(place)) = (apart.first(), rest.iter().position(words)) {
        let state = RoundBreak::state();
        let index = rest[place].index();
        rest.insert(place + 1, Delta::StateSet { index, state });
    }
    rest
}

/// A round as a client is shown it: the calls of all but the last one were Jackfield's, shown or hidden.
fn round(blocks: Vec<Block>, last: bool, shown: bool, taken: &mut u32) -> Vec<Block> {
    let mut out = Vec::new();
    let mut outcomes = Vec::new();
    for mut block in blocks {
        block.cache = None;
        if let Content::ToolOutcome(_) = &block.content {
            continue;
        }
        if let Content::ToolCall(call) = &mut block.content {
            *taken += 1;
            let call = Arc::make_mut(call);
            call.id = ToolCallId::parse(&format!("call_{taken}")).expect("an id");
            if !last {
                if !shown {
                    continue;
                }
                call.ran_by = RanBy::Provider;
                let result = ToolResult::text(format!("outcome {taken}"));
                outcomes.push(outcome(call.id.as_str(), "files", "read", result));
                block.opaque = vec![ServerTool::state(&origin("files", "read"))];
            }
        }
        out.push(block);
    }
    out.extend(outcomes);
    out
}

pub(crate) fn origin(server: &str, tool: &str) -> ToolOrigin {
    ToolOrigin {
        tool: tool.into(),
        toolbox: jackfield_domain::ids::ToolboxId::parse(server).expect("an id"),
    }
}

fn call_by(ran_by: RanBy, id: &str, name: &str, raw: &str) -> Block {
    Content::ToolCall(Arc::new(ToolCall {
        id: ToolCallId::parse(id).expect("an id"),
        input: ToolInput::Json(JsonInput::parse(raw)),
        name: CalledName::new(name),
        ran_by,
        upstream: None,
    }))
    .into()
}

/// A call that the client is to run.
pub(crate) fn client_call(id: &str, name: &str, raw: &str) -> Block {
    call_by(RanBy::Client, id, name, raw)
}

/// A call that Jackfield ran.
pub(crate) fn server_call(id: &str, server: &str, tool: &str, raw: &str) -> Block {
    Block {
        opaque: vec![ServerTool::state(&origin(server, tool))],
        ..call_by(RanBy::Provider, id, &format!("{server}__{tool}"), raw)
    }
}

pub(crate) fn outcome(id: &str, server: &str, tool: &str, result: ToolResult) -> Block {
    let outcome = ToolOutcome {
        call: ToolCallId::parse(id).expect("an id"),
        opaque: Vec::new(),
        result,
    };
    Block {
        opaque: vec![ServerTool::state(&origin(server, tool))],
        ..Block::from(Content::ToolOutcome(Arc::new(outcome)))
    }
}

pub(crate) fn thinking(text: &str) -> Block {
    Content::Thinking(Thinking {
        redacted: false,
        text: text.into(),
    })
    .into()
}

/// A segment with tools of both sides in it, over two rounds.
pub(crate) fn of_both_sides() -> Segment {
    let first = vec![
        thinking("The notes first."),
        Block::text("I look into the notes."),
        server_call("call_s1", "notes", "search", r#"{"query":"dinner"}"#),
        server_call("call_s2", "notes", "get", ""),
        outcome("call_s1", "notes", "search", ToolResult::text("1: dinner")),
        outcome(
            "call_s2",
            "notes",
            "get",
            ToolResult::error("there is no such note"),
        ),
    ];
    let second = vec![
        Block::text("Now the calendar and the weather."),
        client_call("call_c1", "calendar", r#"{"day":"friday"}"#),
        client_call("call_c2", "weather", ""),
    ];
    let mut end = ReplyEnd::new(FinishReason::ToolCalls);
    end.usage = Some(Usage {
        cache_read: 64,
        input: 300,
        output: 80,
        reasoning: 12,
        ..Usage::default()
    });
    Segment {
        end,
        rounds: vec![first, second],
    }
}

/// The pieces of blocks, one block after another, each in one piece.
pub(crate) fn plainly(blocks: &[Block]) -> Vec<Delta> {
    super::super::corpus::samples(&kit::deltas_of(blocks), 1).remove(0)
}

/// The message that chunks add up to, by the rules of the vendor's SDK: texts are joined, and lists whose
/// entries have an index are merged by it.
pub(crate) fn added_up(events: &[SseEvent]) -> Value {
    let mut message = json!({});
    let mut finish = Value::Null;
    let mut usage = Value::Null;
    for event in events.iter().filter(|event| event.data != "[DONE]") {
        let chunk: Value = serde_json::from_str(&event.data).expect("JSON");
        if let Some(used) = chunk.get("usage") {
            usage = used.clone();
        }
        for choice in chunk["choices"].as_array().expect("a list") {
            add(&mut message, &choice["delta"]);
            if !choice["finish_reason"].is_null() {
                finish = choice["finish_reason"].clone();
            }
        }
    }
    for field in ["content", "refusal"] {
        if message[field] == json!("") || message.get(field).is_none() {
            message[field] = Value::Null;
        }
    }
    without_indexes(&mut message);
    json!({ "finish_reason": finish, "message": message, "usage": usage })
}

fn add(known: &mut Value, more: &Value) {
    match (known, more) {
        (Value::Object(known), Value::Object(more)) => add_fields(known, more),
        (Value::String(known), Value::String(more)) => known.push_str(more),
        (Value::Array(known), Value::Array(more)) => {
            for entry in more {
                let index = entry["index"].as_u64().expect("an index, as SDKs want it");
                let index = usize::try_from(index).expect("a small number");
                if index < known.len() {
                    add(&mut known[index], entry);
                } else {
                    assert_eq!(index, known.len(), "a gap");
                    known.push(entry.clone());
                }
            }
        }
        (known, more) => *known = more.clone(),
    }
}

fn add_fields(known: &mut Map<String, Value>, more: &Map<String, Value>) {
    for (key, value) in more {
        match known.get_mut(key) {
            Some(_) if key == "index" || key == "type" => {}
            Some(known) if !known.is_null() => add(known, value),
            _ => {
                known.insert(key.clone(), value.clone());
            }
        }
    }
}

fn without_indexes(message: &mut Value) {
    for list in ["/tool_calls", "/jackfield/tool_calls"] {
        let entries = message.pointer_mut(list).and_then(Value::as_array_mut);
        for entry in entries.into_iter().flatten() {
            entry.as_object_mut().expect("an object").remove("index");
        }
    }
}
