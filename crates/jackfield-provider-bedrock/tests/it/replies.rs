//! The laws of replies: told in pieces or whole, they are the same.

use jackfield_dialect_kit::decode::{DecodeError, DecodeReply as _};
use jackfield_domain::accumulator::ReplyAccumulator;
use jackfield_domain::block::{Content, RanBy, UpstreamId};
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::ids::{ModelAttempt, SessionId, TurnId};
use jackfield_domain::reply::{FinishReason, Reply, ReplyEnd};
use jackfield_domain::usage::Usage;
use jackfield_provider_bedrock::reply::Decoder;
use jackfield_testkit::laws::replies::{Decoded, Event, ReadFailure, ReplyMappers};
use jackfield_testkit::{arb, replies};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::reading::{owner, state};

struct Bedrock;

impl ReplyMappers for Bedrock {
    fn attempt() -> (TurnId, ModelAttempt) {
        attempt()
    }

    fn pieces() -> BoxedStrategy<(Reply, Vec<Delta>)> {
        pieces()
    }

    fn encode(deltas: &[Delta], end: &ReplyEnd) -> Vec<Event> {
        let mut events = vec![event("messageStart", &json!({ "role": "assistant" }))];
        let mut is_thought = false;
        let mut push = |kind, index, field: &str, value: Value| {
            let mut data = json!({ "contentBlockIndex": index });
            if !field.is_empty() {
                data[field] = value;
            }
            events.push(event(kind, &data));
        };
        for delta in deltas {
            let index = delta.index();
            match delta {
                Delta::BlockStarted { start, .. } => {
                    is_thought = matches!(start, BlockStart::Thinking { .. });
                    if let BlockStart::ToolCall { name, upstream, .. } = start {
                        let mut call = json!({ "name": **name });
                        if let Some(upstream) = upstream {
                            call["toolUseId"] = json!(*upstream.id);
                        }
                        push(
                            "contentBlockStart",
                            index,
                            "start",
                            json!({ "toolUse": call }),
                        );
                    }
                }
                Delta::TextAppended { text, .. } => {
                    let piece = json!({ "text": **text });
                    let piece = if is_thought {
                        json!({ "reasoningContent": piece })
                    } else {
                        piece
                    };
                    push("contentBlockDelta", index, "delta", piece);
                }
                Delta::ArgumentsAppended { text, .. } => {
                    let piece = json!({ "toolUse": { "input": **text } });
                    push("contentBlockDelta", index, "delta", piece);
                }
                Delta::StateSet { state, .. } => {
                    let field = match &*state.kind {
                        "signature" => "signature",
                        _ => "redactedContent",
                    };
                    let piece = json!({ "reasoningContent": { field: state.json } });
                    push("contentBlockDelta", index, "delta", piece);
                }
                Delta::BlockEnded { .. } => push("contentBlockStop", index, "", Value::Null),
                _ => {}
            }
        }
        events.push(event("messageStop", &json!({ "stopReason": reason(end) })));
        let metadata = json!({ "usage": usage(end), "metrics": { "latencyMs": 1 } });
        events.push(event("metadata", &metadata));
        events
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
        let mut content = Vec::new();
        for block in &reply.message.blocks {
            let proof = block.opaque.first().map(|state| state.json.clone());
            content.push(match &block.content {
                Content::Text(text) => json!({ "text": *text.text }),
                Content::Thinking(thinking) if thinking.redacted => {
                    json!({ "reasoningContent": { "redactedContent": proof } })
                }
                Content::Thinking(thinking) => {
                    let text = json!({ "text": *thinking.text, "signature": proof });
                    json!({ "reasoningContent": { "reasoningText": text } })
                }
                Content::ToolCall(call) => {
                    let jackfield_domain::tool_input::ToolInput::Json(input) = &call.input else {
                        return Err("a call with text".to_owned());
                    };
                    let mut wire =
                        json!({ "name": call.name.as_str(), "input": parsed(input.raw()) });
                    if let Some(upstream) = &call.upstream {
                        wire["toolUseId"] = json!(*upstream.id);
                    }
                    json!({ "toolUse": wire })
                }
                _ => return Err("a block of another kind".to_owned()),
            });
        }
        let mut body = json!({
            "output": { "message": { "role": "assistant", "content": content } },
            "stopReason": reason(&reply.end),
        });
        if let Some(usage) = usage(&reply.end) {
            body["usage"] = usage;
        }
        let read = Decoder::new(owner()).read_whole(body.to_string().as_bytes());
        read.map_err(|error| error.to_string())
    }

    fn unknown_events() -> Vec<Event> {
        vec![
            event("mood", &json!({ "contentBlockIndex": "fine" })),
            event(
                "contentBlockDelta",
                &json!({ "contentBlockIndex": 77, "delta": { "mood": [1] } }),
            ),
            event(
                "contentBlockStart",
                &json!({ "contentBlockIndex": 78, "start": { "image": {} } }),
            ),
            event("contentBlockStop", &json!({ "contentBlockIndex": 78 })),
        ]
    }

    fn with_unknown_fields((name, data): Event) -> Event {
        let mut data: Value = serde_json::from_str(&data).expect("JSON");
        data["addedLater"] = json!({ "nested": [null] });
        (name, data.to_string())
    }
}

jackfield_testkit::reply_laws!(Bedrock);

proptest! {
    #[test]
    fn nothing_makes_the_decoder_panic(events in vec(any_event(), 0..8), noise in ".{0,40}") {
        let (turn, attempt) = attempt();
        let mut accumulator = ReplyAccumulator::new(turn, attempt);
        let mut decoder = Decoder::new(owner());
        for (name, data) in events {
            let Ok(deltas) = decoder.push(name, &data) else { break };
            for delta in deltas {
                prop_assert_eq!(accumulator.push(&delta), Ok(()));
            }
        }
        drop(decoder.push(Some("contentBlockDelta"), &noise));
        drop(decoder.finish());
        drop(Decoder::new(owner()).read_whole(noise.as_bytes()));
    }
}

/// Known events with known and with absurd data.
fn any_event() -> BoxedStrategy<Event> {
    let names = vec![
        "contentBlockDelta",
        "contentBlockStart",
        "contentBlockStop",
        "exception/validationException",
        "messageStop",
        "metadata",
    ];
    let told =
        (select(names), 0..3_u8, 0..7_u8, arb::json()).prop_map(|(name, index, kind, absurd)| {
            let delta = match kind {
                0 => json!({ "text": "some" }),
                1 => json!({ "reasoningContent": { "text": "hm", "signature": "c2ln" } }),
                2 => json!({ "reasoningContent": { "redactedContent": "c2ln" } }),
                3 => json!({ "toolUse": { "input": "{}" } }),
                4 => json!({ "citation": absurd }),
                _ => absurd.clone(),
            };
            let start =
                json!({ "toolUse": { "name": "clock", "toolUseId": "a", "input": absurd } });
            let data = json!({
                "contentBlockIndex": index,
                "delta": delta,
                "start": start,
                "stopReason": "end_turn",
                "usage": { "inputTokens": 1 },
            });
            event(name, &data)
        });
    told.boxed()
}

/// A block and its deltas, apart from their index.
#[derive(Clone, Debug)]
enum Piece {
    Call(String, String, Option<String>),
    Text(Vec<String>),
    /// With its signature, which is empty for a model that does not sign.
    Thinking(Vec<String>, String),
    Redacted(String),
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
        (texts(), "(c2ln)?").prop_map(|(texts, proof)| Piece::Thinking(texts, proof)),
        Just(Piece::Redacted("c2Vj".to_owned())),
        call.prop_map(|(name, arguments, id)| Piece::Call(name, arguments, id)),
    ];
    let reason = select(vec!["", "length", "later"]);
    let usage = option::of((0..90_u64, 0..90_u64, 0..9_u64, 0..9_u64));
    let told = (vec(piece, 0..5), reason, usage).prop_map(|(pieces, reason, usage)| {
        let has_calls = pieces.iter().any(|piece| matches!(piece, Piece::Call(..)));
        let mut end = ReplyEnd::new(match reason {
            "" if has_calls => FinishReason::ToolCalls,
            "" => FinishReason::Stop,
            "length" => FinishReason::Length,
            other => FinishReason::Unrecognized(other.into()),
        });
        end.usage = usage.map(|(fresh, output, cache_read, cache_write)| Usage {
            cache_read,
            cache_write,
            input: fresh + cache_read + cache_write,
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
        let (start, texts, proof) = match piece {
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
            Piece::Text(texts) => (BlockStart::Text, texts, None),
            Piece::Thinking(texts, proof) => {
                let start = BlockStart::Thinking { redacted: false };
                (start, texts, Some(state("signature", &proof)))
            }
            Piece::Redacted(content) => {
                let start = BlockStart::Thinking { redacted: true };
                (start, Vec::new(), Some(state("redacted_content", &content)))
            }
        };
        deltas.push(Delta::BlockStarted { index, start });
        let texts = texts.into_iter().map(|text| Delta::TextAppended {
            index,
            text: text.into(),
        });
        deltas.extend(texts);
        deltas.extend(proof.map(|state| Delta::StateSet { index, state }));
        deltas.push(Delta::BlockEnded { index });
    }
    deltas
}

fn event(name: &'static str, data: &Value) -> Event {
    (Some(name), data.to_string())
}

fn reason(end: &ReplyEnd) -> String {
    match &end.finish {
        FinishReason::Length => "max_tokens".to_owned(),
        FinishReason::ToolCalls => "tool_use".to_owned(),
        FinishReason::Unrecognized(reason) => reason.to_string(),
        _ => "end_turn".to_owned(),
    }
}

fn usage(end: &ReplyEnd) -> Option<Value> {
    let usage = end.usage?;
    Some(json!({
        "inputTokens": usage.input - usage.cache_read - usage.cache_write,
        "outputTokens": usage.output,
        "cacheReadInputTokens": usage.cache_read,
        "cacheWriteInputTokens": usage.cache_write,
    }))
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
