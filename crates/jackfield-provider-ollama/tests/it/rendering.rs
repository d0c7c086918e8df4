//! Replies on Ollama's wire in every manner.

use jackfield_domain::reply::FinishReason;
use jackfield_testkit::contract::chat_model::{Manner, ScriptedBlock, VendorReply, WireReply};
use serde_json::{Map, Value, json};

use crate::harness::MODEL;

/// What the language has no form for.
pub(crate) const IMPOSSIBLE: &[(Manner, &str)] = &[
    (
        Manner::ArgumentsAtEnd,
        "a call comes whole, and nothing ends it",
    ),
    (
        Manner::ArgumentsAtOnce,
        "arguments are a value, and not text",
    ),
    (
        Manner::ArgumentsCumulative,
        "a call comes whole: there are no pieces of its arguments",
    ),
    (
        Manner::ArgumentsEmpty,
        "arguments are a value, and not text",
    ),
    (Manner::ArgumentsInterleaved, "a call comes whole"),
    (Manner::LaterIdAndNameEmpty, "a call comes whole"),
    (Manner::NameLate, "a call comes whole"),
    (Manner::NameRepeated, "a call comes whole"),
    (
        Manner::UsageApart,
        "the last line has the reason and the usage",
    ),
];

/// How Ollama, or a server that only claims to be it, sends a reply.
pub(crate) fn render(reply: &VendorReply) -> Option<WireReply> {
    let manner = reply.manner;
    if IMPOSSIBLE.iter().any(|(known, _)| *known == manner) {
        return None;
    }
    let reason = match &reply.finish {
        FinishReason::Length => "length",
        FinishReason::Stop | FinishReason::ToolCalls => "stop",
        FinishReason::Unrecognized(reason) => reason,
        // Ollama says `stop` for a stop sequence, too, and knows none of the others.
        FinishReason::ContentFilter
        | FinishReason::ContextFull
        | FinishReason::Paused
        | FinishReason::Refused
        | FinishReason::StopSequence(_) => return None,
    };
    let mut pieces: Vec<Value> = Vec::new();
    let (mut content, mut thinking) = (String::new(), String::new());
    let mut calls: Vec<Value> = Vec::new();
    for block in &reply.blocks {
        match block {
            ScriptedBlock::CustomCall { .. } | ScriptedBlock::Refusal(_) => return None,
            ScriptedBlock::Reasoning { pieces: more, .. } => {
                thinking.push_str(&more.concat());
                pieces.extend(
                    more.iter()
                        .map(|piece| json!({ "content": "", "thinking": piece })),
                );
            }
            ScriptedBlock::Text { state: Some(_), .. } => return None,
            ScriptedBlock::Text { pieces: more, .. } => {
                content.push_str(&more.concat());
                pieces.extend(more.iter().map(|piece| json!({ "content": piece })));
            }
            ScriptedBlock::ToolCall {
                arguments,
                id,
                name,
                state,
            } => {
                if state.is_some() {
                    return None;
                }
                let first = calls.first().map(|call| call["id"].clone());
                let call = call(manner, (id, name, &arguments.concat()), calls.len(), first)?;
                calls.push(call.clone());
                if manner != Manner::CallsInOnePiece {
                    pieces.push(json!({ "content": "", "tool_calls": [call] }));
                }
            }
        }
    }
    if manner == Manner::CallsInOnePiece && !calls.is_empty() {
        pieces.push(json!({ "content": "", "tool_calls": calls }));
    }
    let mut last = line(json!({ "content": "" }), manner);
    if manner == Manner::NotStreamed {
        last["message"] = json!({ "role": "assistant", "content": content });
        if !thinking.is_empty() {
            last["message"]["thinking"] = json!(thinking);
        }
        if !calls.is_empty() {
            last["message"]["tool_calls"] = json!(calls);
        }
    }
    last["done"] = json!(true);
    last["done_reason"] = json!(reason);
    last["total_duration"] = json!(5_191_566_416_u64);
    last["eval_duration"] = json!(4_799_921_000_u64);
    if manner != Manner::UsageMissing {
        last["prompt_eval_count"] = json!(reply.usage.input);
        last["eval_count"] = json!(reply.usage.output);
    }
    if manner == Manner::NotStreamed {
        return Some(WireReply::json(200, last.to_string()));
    }
    let mut lines: Vec<Value> = pieces
        .into_iter()
        .map(|piece| line(piece, manner))
        .collect();
    if manner == Manner::UsageInEachPiece {
        for (nth, line) in lines.iter_mut().enumerate() {
            line["prompt_eval_count"] = json!(reply.usage.input);
            line["eval_count"] = json!(nth.min(1));
        }
    }
    lines.push(last);
    if manner == Manner::NullsForNothing {
        lines.iter_mut().for_each(nulls);
    }
    let lines = lines.iter().map(Value::to_string);
    Some(WireReply::lines("application/x-ndjson", lines))
}

fn call(
    manner: Manner,
    (id, name, arguments): (&str, &str, &str),
    nth: usize,
    first: Option<Value>,
) -> Option<Value> {
    let is_empty = arguments.trim().is_empty();
    let arguments: Map<String, Value> = if is_empty {
        Map::new()
    } else {
        serde_json::from_str(arguments).ok()?
    };
    let function = json!({ "index": nth, "name": name, "arguments": arguments });
    let mut call = json!({ "id": id, "function": function });
    match manner {
        Manner::ArgumentsMissing if is_empty => remove(&mut call["function"], "arguments"),
        Manner::ArgumentsNull if is_empty => call["function"]["arguments"] = Value::Null,
        Manner::IdEmpty => call["id"] = json!(""),
        Manner::IdMissing => remove(&mut call, "id"),
        Manner::IdSame => call["id"] = first.unwrap_or_else(|| json!(id)),
        Manner::IndexMissing => remove(&mut call["function"], "index"),
        Manner::IndexNegative => call["function"]["index"] = json!(-1),
        Manner::IndexOneBased => call["function"]["index"] = json!(nth + 1),
        Manner::IndexReused => call["function"]["index"] = json!(0),
        _ => {}
    }
    Some(call)
}

fn line(mut piece: Value, manner: Manner) -> Value {
    if manner != Manner::RoleMissing {
        piece["role"] = json!("assistant");
    }
    json!({
        "model": MODEL,
        "created_at": "2026-08-21T08:52:19.385406455-07:00",
        "message": piece,
        "done": false,
    })
}

/// Every field that some line has, with nothing in it.
fn nulls(line: &mut Value) {
    let fill = |value: &mut Value, names: &[&str]| {
        let fields = value.as_object_mut().unwrap();
        for name in names {
            fields.entry(*name).or_insert(Value::Null);
        }
    };
    fill(
        line,
        &["done_reason", "error", "eval_count", "prompt_eval_count"],
    );
    let names = ["images", "thinking", "tool_calls", "tool_name"];
    fill(&mut line["message"], &names);
}

fn remove(value: &mut Value, name: &str) {
    value.as_object_mut().unwrap().shift_remove(name);
}
