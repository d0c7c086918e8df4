//! The laws of replies: told in pieces or whole, they are the same.

use jackfield_dialect_kit::decode::{DecodeError, DecodeReply as _};
use jackfield_domain::accumulator::ReplyAccumulator;
use jackfield_domain::block::{Block, Content, RanBy, Text, Thinking, UpstreamId};
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::ids::{ModelAttempt, SessionId, TurnId};
use jackfield_domain::message::Message;
use jackfield_domain::reply::{FinishReason, Reply, ReplyEnd};
use jackfield_domain::usage::Usage;
use jackfield_provider_ollama::reply::Decoder;
use jackfield_testkit::laws::replies::{Decoded, Event, ReadFailure, ReplyMappers};
use jackfield_testkit::{arb, replies};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::reading::{own_thoughts, owner};

struct Ollama;

impl ReplyMappers for Ollama {
    fn attempt() -> (TurnId, ModelAttempt) {
        attempt()
    }

    fn pieces() -> BoxedStrategy<(Reply, Vec<Delta>)> {
        pieces()
    }

    fn encode(deltas: &[Delta], end: &ReplyEnd) -> Vec<Event> {
        let mut lines = Vec::new();
        let mut call = Value::Null;
        let mut arguments = String::new();
        let mut field = "content";
        for delta in deltas {
            match delta {
                Delta::BlockStarted { start, .. } => match start {
                    BlockStart::Thinking { .. } => field = "thinking",
                    BlockStart::ToolCall { name, upstream, .. } => {
                        call = json!({ "function": { "name": **name } });
                        if let Some(upstream) = upstream {
                            call["id"] = json!(*upstream.id);
                        }
                    }
                    _ => field = "content",
                },
                Delta::TextAppended { text, .. } => {
                    let mut piece = json!({ "role": "assistant", "content": "" });
                    piece[field] = json!(**text);
                    lines.push(json!({ "message": piece, "done": false }));
                }
                Delta::ArgumentsAppended { text, .. } => arguments.push_str(text),
                Delta::BlockEnded { .. } if call.is_object() => {
                    let mut call = call.take();
                    if !arguments.is_empty() {
                        call["function"]["arguments"] = parsed(&std::mem::take(&mut arguments));
                    }
                    lines.push(json!({ "message": { "tool_calls": [call] }, "done": false }));
                }
                _ => {}
            }
        }
        lines.push(last(json!({ "role": "assistant", "content": "" }), end));
        lines.iter().map(|line| (None, line.to_string())).collect()
    }

    fn decode(events: &[Event]) -> Decoded {
        let mut decoder = Decoder::new(owner());
        let mut deltas = Vec::new();
        for (name, data) in events {
            match decoder.push(*name, data) {
                Ok(more) => deltas.extend(more),
                Err(error) => {
                    let end = Err(ReadFailure::Other(error.to_string()));
                    return Decoded { deltas, end };
                }
            }
        }
        let end = decoder.finish().map_err(|error| match error {
            DecodeError::Truncated { phase } => ReadFailure::Truncated(phase),
            error => ReadFailure::Other(error.to_string()),
        });
        Decoded { deltas, end }
    }

    fn through_whole(reply: &Reply) -> Result<(Vec<Delta>, ReplyEnd), String> {
        let (mut content, mut thinking) = (String::new(), String::new());
        let mut calls = Vec::new();
        for block in &reply.message.blocks {
            match &block.content {
                Content::Text(text) => content.push_str(&text.text),
                Content::Thinking(thoughts) => thinking.push_str(&thoughts.text),
                Content::ToolCall(call) => {
                    let jackfield_domain::tool_input::ToolInput::Json(input) = &call.input else {
                        return Err("a call with text".to_owned());
                    };
                    let mut wire = json!({ "function": { "name": call.name.as_str(), "arguments": parsed(input.raw()) } });
                    if let Some(upstream) = &call.upstream {
                        wire["id"] = json!(*upstream.id);
                    }
                    calls.push(wire);
                }
                _ => return Err("a block of another kind".to_owned()),
            }
        }
        let mut message = json!({ "role": "assistant", "content": content });
        if !thinking.is_empty() {
            message["thinking"] = json!(thinking);
        }
        if !calls.is_empty() {
            message["tool_calls"] = json!(calls);
        }
        let body = last(message, &reply.end).to_string();
        let read = Decoder::new(owner()).read_whole(body.as_bytes());
        read.map_err(|error| error.to_string())
    }

    /// Thoughts, text and calls: a whole reply has a field for each.
    fn gathered(message: &Message) -> Vec<Block> {
        let (mut content, mut thinking) = (String::new(), String::new());
        let mut blocks = Vec::new();
        for block in &message.blocks {
            match &block.content {
                Content::Text(Text { text, .. }) => content.push_str(text),
                Content::Thinking(Thinking { text, .. }) => thinking.push_str(text),
                _ => blocks.push(block.clone()),
            }
        }
        if !content.is_empty() {
            blocks.insert(0, Block::text(content));
        }
        if !thinking.is_empty() {
            let thinking = Thinking {
                redacted: false,
                text: thinking.into(),
            };
            let mut block = Block::from(Content::Thinking(thinking));
            block.opaque.push(own_thoughts());
            blocks.insert(0, block);
        }
        blocks
    }

    fn unknown_events() -> Vec<Event> {
        let lines = [
            "{}",
            "{\"done\":false}",
            "{\"message\":{\"role\":\"assistant\",\"mood\":[\"fine\"]},\"done\":false}",
            "{\"logprobs\":[{\"token\":\"a\"}],\"created_at\":\"2026-08-21T00:00:00Z\"}",
        ];
        lines.map(|line| (None, line.to_owned())).to_vec()
    }

    fn with_unknown_fields((name, data): Event) -> Event {
        let mut line: Value = serde_json::from_str(&data).expect("JSON");
        line["addedLater"] = json!({ "nested": [null] });
        line["message"]["addedLater"] = json!(true);
        (name, line.to_string())
    }
}

jackfield_testkit::reply_laws!(Ollama);

proptest! {
    #[test]
    fn nothing_makes_the_decoder_panic(lines in vec(any_line(), 0..8), noise in ".{0,40}") {
        let (turn, attempt) = attempt();
        let mut accumulator = ReplyAccumulator::new(turn, attempt);
        let mut decoder = Decoder::new(owner());
        for line in lines {
            let Ok(deltas) = decoder.push(None, &line.to_string()) else { break };
            for delta in deltas {
                prop_assert_eq!(accumulator.push(&delta), Ok(()));
            }
        }
        drop(decoder.push(None, &noise));
        drop(decoder.finish());
        drop(Decoder::new(owner()).read_whole(noise.as_bytes()));
    }
}

/// Objects that look like lines: known fields with known and with absurd values.
fn any_line() -> BoxedStrategy<Value> {
    let line = (0..6_u8, arb::json(), any::<bool>()).prop_map(|(kind, absurd, done)| {
        let piece = match kind {
            0 => json!({ "content": "some" }),
            1 => json!({ "thinking": "hm" }),
            2 => {
                json!({ "tool_calls": [{ "function": { "name": "clock", "arguments": absurd } }] })
            }
            3 => json!({ "tool_calls": absurd }),
            4 => absurd.clone(),
            _ => return json!({ "error": absurd }),
        };
        json!({ "message": piece, "done": done, "done_reason": "stop", "eval_count": 3 })
    });
    prop_oneof![4 => line, 1 => arb::json()].boxed()
}

/// A block and its deltas, apart from their index.
#[derive(Clone, Debug)]
enum Piece {
    Call(String, String, Option<String>),
    Text(Vec<String>),
    Thinking(Vec<String>),
}

/// A reply as the decoder tells it.
fn pieces() -> BoxedStrategy<(Reply, Vec<Delta>)> {
    let texts = || vec("[a-zåß 🌨]{1,6}", 1..4);
    let arguments = arb::json_object().prop_map(|fields| Value::Object(fields).to_string());
    let arguments = prop_oneof![3 => arguments, 1 => Just(String::new())];
    let id = option::of("call_[a-z0-9]{8}");
    let call = ("[a-z]{1,8}", arguments, id);
    let piece = prop_oneof![
        texts().prop_map(Piece::Text),
        texts().prop_map(Piece::Thinking),
        call.prop_map(|(name, arguments, id)| Piece::Call(name, arguments, id)),
    ];
    let reason = select(vec!["", "length", "unload"]);
    let usage = option::of((0..90_u64, 0..90_u64));
    let told = (vec(piece, 0..5), reason, usage).prop_map(|(pieces, reason, usage)| {
        let has_calls = pieces.iter().any(|piece| matches!(piece, Piece::Call(..)));
        let mut end = ReplyEnd::new(match reason {
            "" if has_calls => FinishReason::ToolCalls,
            "" => FinishReason::Stop,
            "length" => FinishReason::Length,
            other => FinishReason::Unrecognized(other.into()),
        });
        end.model = Some("model-a".into());
        end.usage = usage.map(|(input, output)| Usage {
            input,
            output,
            ..Usage::default()
        });
        let deltas = deltas(pieces);
        (replies::accumulated(attempt(), &deltas, end), deltas)
    });
    told.boxed()
}

fn deltas(pieces: Vec<Piece>) -> Vec<Delta> {
    let mut deltas = Vec::new();
    for (index, piece) in (0..).zip(pieces) {
        let (start, texts) = match piece {
            Piece::Call(name, arguments, id) => {
                let start = BlockStart::ToolCall {
                    json: true,
                    name: name.into(),
                    ran_by: RanBy::Engine,
                    upstream: id.map(|id| UpstreamId {
                        id: id.into(),
                        owner: owner(),
                    }),
                };
                deltas.push(Delta::BlockStarted { index, start });
                if !arguments.is_empty() {
                    let text = arguments.into();
                    deltas.push(Delta::ArgumentsAppended { index, text });
                }
                deltas.push(Delta::BlockEnded { index });
                continue;
            }
            Piece::Text(texts) => (BlockStart::Text, texts),
            Piece::Thinking(texts) => (BlockStart::Thinking { redacted: false }, texts),
        };
        deltas.push(Delta::BlockStarted { index, start });
        let texts = texts.into_iter().map(|text| Delta::TextAppended {
            index,
            text: text.into(),
        });
        deltas.extend(texts);
        deltas.push(Delta::BlockEnded { index });
    }
    deltas
}

/// The last line of a stream, or a whole reply.
fn last(message: Value, end: &ReplyEnd) -> Value {
    let reason = match &end.finish {
        FinishReason::Length => "length",
        FinishReason::Unrecognized(reason) => reason,
        _ => "stop",
    };
    let mut line =
        json!({ "model": "model-a", "message": message, "done": true, "done_reason": reason });
    if let Some(usage) = &end.usage {
        line["prompt_eval_count"] = json!(usage.input);
        line["eval_count"] = json!(usage.output);
    }
    line
}

fn parsed(arguments: &str) -> Value {
    serde_json::from_str(arguments).unwrap_or_else(|_| json!({}))
}

fn attempt() -> (TurnId, ModelAttempt) {
    let session = SessionId::parse("s1").expect("a valid id");
    let attempt = ModelAttempt {
        round: 1,
        attempt: 1,
    };
    (TurnId::derive(&session, 1), attempt)
}
