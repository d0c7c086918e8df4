//! Replies on Bedrock's wire in every manner.

use bytes::Bytes;
use jackfield_domain::reply::FinishReason;
use jackfield_testkit::contract::chat_model::{Manner, ScriptedBlock, VendorReply, WireReply};
use serde_json::{Map, Value, json};

use crate::harness::event;

/// What the language has no form for, or what Bedrock, the one server that speaks it, does not do.
pub(crate) const IMPOSSIBLE: &[(Manner, &str)] = &[
    (Manner::ArgumentsAsObject, "pieces of arguments are text"),
    (
        Manner::ArgumentsAtEnd,
        "what ends a block has its number alone",
    ),
    (
        Manner::ArgumentsAtOnce,
        "what begins a call has no arguments",
    ),
    (Manner::ArgumentsCumulative, "pieces are never repeated"),
    (Manner::ArgumentsNull, "a piece of arguments is text"),
    (Manner::CallsInOnePiece, "an event is about one block"),
    (
        Manner::EndMarkerMissing,
        "a reply ends with `metadata`; without it, it broke off",
    ),
    (Manner::IndexMissing, "the number of a block is required"),
    (Manner::IndexNegative, "no block is counted below zero"),
    (
        Manner::LaterIdAndNameEmpty,
        "pieces have neither ids nor names",
    ),
    (
        Manner::NameLate,
        "the event that begins a call has its name",
    ),
    (Manner::NameRepeated, "pieces have no names"),
    (Manner::RoleRepeated, "only `messageStart` has a role"),
    (Manner::UsageInEachPiece, "only `metadata` has the usage"),
];

/// How Bedrock sends a reply.
pub(crate) fn render(reply: &VendorReply) -> Option<WireReply> {
    let manner = reply.manner;
    if IMPOSSIBLE.iter().any(|(known, _)| *known == manner) {
        return None;
    }
    let reason = match &reply.finish {
        FinishReason::ContentFilter => "content_filtered",
        FinishReason::ContextFull => "model_context_window_exceeded",
        FinishReason::Length => "max_tokens",
        FinishReason::Stop => "end_turn",
        FinishReason::ToolCalls if manner == Manner::FinishSaysStop => "end_turn",
        FinishReason::StopSequence(_) => "stop_sequence",
        FinishReason::ToolCalls => "tool_use",
        FinishReason::Unrecognized(reason) => reason,
        FinishReason::Paused | FinishReason::Refused => return None,
    };
    let stop = match &reply.finish {
        FinishReason::StopSequence(text) => Some(text),
        _ => None,
    };
    let cached = reply.usage.cache_read + reply.usage.cache_write;
    let usage = json!({
        "inputTokens": reply.usage.input - cached,
        "outputTokens": reply.usage.output,
        "totalTokens": reply.usage.input + reply.usage.output,
        "cacheReadInputTokens": reply.usage.cache_read,
        "cacheWriteInputTokens": reply.usage.cache_write,
    });
    if manner == Manner::NotStreamed {
        let blocks: Option<Vec<Value>> = reply.blocks.iter().map(whole).collect();
        let mut body = json!({
            "output": { "message": { "role": "assistant", "content": blocks? } },
            "stopReason": reason,
            "usage": usage,
            "metrics": { "latencyMs": 551 },
        });
        if let Some(stop) = stop {
            body["additionalModelResponseFields"] = json!({ "stop_sequence": **stop });
        }
        if manner == Manner::UsageMissing {
            body.as_object_mut().unwrap().shift_remove("usage");
        }
        return Some(WireReply::json(200, body.to_string()));
    }
    let mut events: Vec<(&str, Value)> = Vec::new();
    let start = if manner == Manner::RoleMissing {
        json!({})
    } else {
        json!({ "role": "assistant" })
    };
    events.push(("messageStart", start));
    let mut turns: Vec<Vec<(&str, Value)>> = Vec::new();
    let first = reply.blocks.iter().find_map(|block| match block {
        ScriptedBlock::ToolCall { id, .. } => Some(id.as_str()),
        _ => None,
    });
    for (nth, block) in reply.blocks.iter().enumerate() {
        let index = match manner {
            Manner::IndexOneBased => nth + 1,
            Manner::IndexReused => 0,
            _ => nth,
        };
        let of_block = streamed(block, index, manner, first.unwrap_or_default())?;
        if manner == Manner::ArgumentsInterleaved && matches!(block, ScriptedBlock::ToolCall { .. })
        {
            turns.push(of_block);
        } else {
            events.extend(interleaved(&mut turns));
            events.extend(of_block);
        }
    }
    events.extend(interleaved(&mut turns));
    let mut end = json!({ "stopReason": reason });
    if let Some(stop) = stop {
        end["additionalModelResponseFields"] = json!({ "delta": { "stop_sequence": **stop } });
    }
    events.push(("messageStop", end));
    let mut metadata = json!({ "usage": usage, "metrics": { "latencyMs": 551 } });
    if manner == Manner::UsageMissing {
        metadata.as_object_mut().unwrap().shift_remove("usage");
    }
    events.push(("metadata", metadata));
    if manner == Manner::NullsForNothing {
        events.iter_mut().for_each(|(_, data)| nulls(data));
    }
    let frames: Vec<Bytes> = events
        .iter()
        .map(|(kind, data)| event(kind, data))
        .collect();
    let mut wire = WireReply::events(frames);
    wire.headers = vec![(
        "content-type".to_owned(),
        "application/vnd.amazon.eventstream".to_owned(),
    )];
    Some(wire.header("x-amzn-requestid", "7a1b"))
}

/// The events of a block; `None` if there is no such block.
fn streamed(
    block: &ScriptedBlock,
    index: usize,
    manner: Manner,
    first: &str,
) -> Option<Vec<(&'static str, Value)>> {
    let mut events = Vec::new();
    let mut piece = |delta: Value| {
        events.push((
            "contentBlockDelta",
            json!({ "contentBlockIndex": index, "delta": delta, "p": "abcd" }),
        ));
    };
    match block {
        ScriptedBlock::CustomCall { .. }
        | ScriptedBlock::Refusal(_)
        | ScriptedBlock::Text { state: Some(_), .. }
        | ScriptedBlock::ToolCall { state: Some(_), .. } => return None,
        ScriptedBlock::Reasoning { pieces, state } => {
            for text in pieces {
                piece(json!({ "reasoningContent": { "text": text } }));
            }
            piece(json!({ "reasoningContent": { "signature": state } }));
        }
        ScriptedBlock::Text { pieces, .. } => {
            for text in pieces {
                piece(json!({ "text": text }));
            }
        }
        ScriptedBlock::ToolCall {
            arguments,
            id,
            name,
            ..
        } => {
            let is_empty = arguments.concat().trim().is_empty();
            if is_empty && manner == Manner::ArgumentsEmpty {
                piece(json!({ "toolUse": { "input": "" } }));
            }
            if is_empty && manner == Manner::ArgumentsMissing {
                piece(json!({ "toolUse": {} }));
            }
            for text in arguments.iter().filter(|_| !is_empty) {
                piece(json!({ "toolUse": { "input": text } }));
            }
            let mut call = json!({ "toolUseId": id, "name": name });
            match manner {
                Manner::IdEmpty => call["toolUseId"] = json!(""),
                Manner::IdMissing => {
                    call.as_object_mut().unwrap().shift_remove("toolUseId");
                }
                Manner::IdSame => call["toolUseId"] = json!(first),
                _ => {}
            }
            let start = json!({ "contentBlockIndex": index, "start": { "toolUse": call } });
            events.insert(0, ("contentBlockStart", start));
        }
    }
    events.push(("contentBlockStop", json!({ "contentBlockIndex": index })));
    Some(events)
}

/// The events of calls, in turns.
fn interleaved<'e>(calls: &mut Vec<Vec<(&'e str, Value)>>) -> Vec<(&'e str, Value)> {
    let mut events = Vec::new();
    let mut calls: Vec<_> = calls.drain(..).map(Vec::into_iter).collect();
    loop {
        let turn: Vec<_> = calls.iter_mut().filter_map(Iterator::next).collect();
        if turn.is_empty() {
            return events;
        }
        events.extend(turn);
    }
}

fn whole(block: &ScriptedBlock) -> Option<Value> {
    Some(match block {
        ScriptedBlock::Reasoning { pieces, state } => {
            let text = json!({ "text": pieces.concat(), "signature": state });
            json!({ "reasoningContent": { "reasoningText": text } })
        }
        ScriptedBlock::Text {
            pieces,
            state: None,
        } => json!({ "text": pieces.concat() }),
        ScriptedBlock::ToolCall {
            arguments,
            id,
            name,
            state: None,
        } => {
            let arguments = arguments.concat();
            let input: Map<String, Value> = if arguments.trim().is_empty() {
                Map::new()
            } else {
                serde_json::from_str(&arguments).ok()?
            };
            json!({ "toolUse": { "toolUseId": id, "name": name, "input": input } })
        }
        _ => return None,
    })
}

/// Every field that some piece has, with nothing in it.
fn nulls(data: &mut Value) {
    if let Some(delta) = data.get_mut("delta").and_then(Value::as_object_mut) {
        for name in ["citation", "reasoningContent", "text", "toolUse"] {
            delta.entry(name).or_insert(Value::Null);
        }
    }
    if let Some(fields) = data.as_object_mut() {
        for name in [
            "additionalModelResponseFields",
            "performanceConfig",
            "trace",
        ] {
            fields.entry(name).or_insert(Value::Null);
        }
    }
}
