//! Replies on Gemini's wire in every manner.

use jackfield_domain::reply::FinishReason;
use jackfield_testkit::contract::chat_model::{Manner, ScriptedBlock, VendorReply, WireReply};
use serde_json::{Map, Value, json};

use crate::harness::{MODEL, event};

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
    (Manner::IndexMissing, "parts have no numbers"),
    (Manner::IndexNegative, "parts have no numbers"),
    (Manner::IndexOneBased, "parts have no numbers"),
    (Manner::IndexReused, "parts have no numbers"),
    (Manner::LaterIdAndNameEmpty, "a call comes whole"),
    (Manner::NameLate, "a call comes whole"),
    (Manner::NameRepeated, "a call comes whole"),
];

/// How the vendor, or a server that only claims to be it, sends a reply.
pub(crate) fn render(reply: &VendorReply) -> Option<WireReply> {
    let manner = reply.manner;
    if IMPOSSIBLE.iter().any(|(known, _)| *known == manner) {
        return None;
    }
    let reason = match &reply.finish {
        FinishReason::ContentFilter => "SAFETY",
        FinishReason::Length => "MAX_TOKENS",
        FinishReason::Stop | FinishReason::ToolCalls => "STOP",
        FinishReason::Unrecognized(reason) => reason,
        // The vendor says STOP for a stop sequence, too, and knows none of the others.
        FinishReason::ContextFull
        | FinishReason::Paused
        | FinishReason::Refused
        | FinishReason::StopSequence(_) => return None,
    };
    let mut pieces: Vec<Vec<Value>> = Vec::new();
    let mut first = None;
    let mut calls = Vec::new();
    for block in &reply.blocks {
        let is_call = matches!(block, ScriptedBlock::ToolCall { .. });
        for part in parts(block, manner, &mut first)? {
            if is_call && manner == Manner::CallsInOnePiece {
                calls.push(part);
            } else {
                pieces.push(vec![part]);
            }
        }
    }
    if !calls.is_empty() {
        pieces.push(calls);
    }
    if manner == Manner::NotStreamed {
        let mut whole = fragment(pieces.concat(), manner);
        whole["candidates"][0]["finishReason"] = json!(reason);
        whole["usageMetadata"] = usage(reply, reply.usage.output);
        return Some(WireReply::json(200, whole.to_string()));
    }
    let mut fragments: Vec<Value> = pieces
        .into_iter()
        .map(|parts| fragment(parts, manner))
        .collect();
    if manner != Manner::UsageMissing && manner != Manner::UsageApart {
        for fragment in &mut fragments {
            fragment["usageMetadata"] = usage(reply, reply.usage.reasoning);
        }
    }
    let mut last = fragment(vec![json!({ "text": "" })], manner);
    last["candidates"][0]["finishReason"] = json!(reason);
    if manner != Manner::UsageMissing && manner != Manner::UsageApart {
        last["usageMetadata"] = usage(reply, reply.usage.output);
    }
    fragments.push(last);
    if manner == Manner::UsageApart {
        fragments.push(json!({ "usageMetadata": usage(reply, reply.usage.output) }));
    }
    if manner == Manner::NullsForNothing {
        fragments.iter_mut().for_each(nulls);
    }
    Some(WireReply::events(fragments.iter().map(event)))
}

/// The parts of a block, as the provider gets them.
fn parts(block: &ScriptedBlock, manner: Manner, first: &mut Option<String>) -> Option<Vec<Value>> {
    let texts = |pieces: &[String], state: Option<&str>, thought: bool| -> Vec<Value> {
        let mut parts: Vec<Value> = match state {
            // A signed text comes whole.
            Some(state) => vec![json!({ "text": pieces.concat(), "thoughtSignature": state })],
            None => pieces.iter().map(|text| json!({ "text": text })).collect(),
        };
        if thought {
            parts
                .iter_mut()
                .for_each(|part| part["thought"] = json!(true));
        }
        parts
    };
    Some(match block {
        ScriptedBlock::CustomCall { .. } | ScriptedBlock::Refusal(_) => return None,
        ScriptedBlock::Reasoning { pieces, state } => texts(pieces, Some(state), true),
        ScriptedBlock::Text { pieces, state } => texts(pieces, state.as_deref(), false),
        ScriptedBlock::ToolCall {
            arguments,
            id,
            name,
            state,
        } => {
            let whole = arguments.concat();
            let is_empty = whole.trim().is_empty();
            let args: Map<String, Value> = if is_empty {
                Map::new()
            } else {
                serde_json::from_str(&whole).ok()?
            };
            let mut call = json!({ "id": id, "name": name, "args": args });
            match manner {
                Manner::ArgumentsMissing if is_empty => remove(&mut call, "args"),
                Manner::ArgumentsNull if is_empty => call["args"] = Value::Null,
                Manner::IdEmpty => call["id"] = json!(""),
                Manner::IdMissing => remove(&mut call, "id"),
                Manner::IdSame => call["id"] = json!(first.get_or_insert_with(|| id.clone())),
                _ => {}
            }
            let mut part = json!({ "functionCall": call });
            if let Some(state) = state {
                part["thoughtSignature"] = json!(state);
            }
            vec![part]
        }
    })
}

fn fragment(parts: Vec<Value>, manner: Manner) -> Value {
    let mut content = json!({ "parts": parts, "role": "model" });
    if manner == Manner::RoleMissing {
        remove(&mut content, "role");
    }
    json!({
        "candidates": [{ "content": content, "index": 0 }],
        "modelVersion": MODEL,
        "responseId": "r3sp0nse",
    })
}

fn usage(reply: &VendorReply, output: u64) -> Value {
    let usage = &reply.usage;
    let mut counts = json!({
        "promptTokenCount": usage.input,
        "cachedContentTokenCount": usage.cache_read,
        "candidatesTokenCount": output - usage.reasoning,
        "totalTokenCount": usage.input + output,
        "promptTokensDetails": [{ "modality": "TEXT", "tokenCount": usage.input }],
    });
    if usage.reasoning > 0 {
        counts["thoughtsTokenCount"] = json!(usage.reasoning);
    }
    counts
}

/// Every field that some fragment or part has, with nothing in it.
fn nulls(fragment: &mut Value) {
    let fill = |value: &mut Value, names: &[&str]| {
        let fields = value.as_object_mut().unwrap();
        for name in names {
            fields.entry(*name).or_insert(Value::Null);
        }
    };
    fill(fragment, &["error", "promptFeedback", "usageMetadata"]);
    for candidate in fragment["candidates"].as_array_mut().unwrap() {
        let names = [
            "citationMetadata",
            "finishMessage",
            "finishReason",
            "groundingMetadata",
            "safetyRatings",
        ];
        fill(candidate, &names);
        for part in candidate["content"]["parts"].as_array_mut().unwrap() {
            let names = [
                "executableCode",
                "fileData",
                "functionCall",
                "functionResponse",
                "inlineData",
                "text",
                "thought",
                "thoughtSignature",
            ];
            fill(part, &names);
        }
    }
}

fn remove(value: &mut Value, name: &str) {
    value.as_object_mut().unwrap().shift_remove(name);
}
