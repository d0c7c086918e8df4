//! The message of a reply, in one piece and in chunks.

use jackfield_testkit::contract::chat_model::{Manner, ScriptedBlock, VendorReply, WireReply};
use serde_json::{Value, json};

use crate::harness::{MODEL, data, id, index, set};

fn usage(reply: &VendorReply) -> Value {
    let usage = &reply.usage;
    json!({
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {
            "cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write,
            "audio_tokens": 0,
        },
        "completion_tokens_details": { "reasoning_tokens": usage.reasoning, "audio_tokens": 0 },
    })
}

/// A call of a reply.
#[derive(Clone, Copy)]
struct Call<'a> {
    id: &'a str,
    /// Whether it has JSON, or free text.
    json: bool,
    name: &'a str,
    pieces: &'a [String],
    /// What a server wants back with it, as Google's do.
    state: Option<&'a str>,
}

impl Call<'_> {
    fn set_state(&self, call: &mut Value) {
        let signature = |state| json!({ "google": { "thought_signature": state } });
        set(call, "extra_content", self.state.map(signature));
    }
}

fn calls(reply: &VendorReply) -> Vec<Call<'_>> {
    let calls = reply.blocks.iter().filter_map(|block| match block {
        ScriptedBlock::CustomCall { id, input, name } => Some(Call {
            id,
            json: false,
            name,
            pieces: input,
            state: None,
        }),
        ScriptedBlock::ToolCall {
            arguments,
            id,
            name,
            state,
        } => Some(Call {
            id,
            json: true,
            name,
            pieces: arguments,
            state: state.as_deref(),
        }),
        ScriptedBlock::Reasoning { .. }
        | ScriptedBlock::Refusal(_)
        | ScriptedBlock::Text { .. } => None,
    });
    calls.collect()
}

/// A reply in one piece.
pub(super) fn whole(reply: &VendorReply, finish: &str) -> Value {
    let (mut content, mut refusal, mut reasoning) = (None, None, None);
    for block in &reply.blocks {
        let (place, pieces) = match block {
            ScriptedBlock::Reasoning { pieces, .. } => (&mut reasoning, pieces),
            ScriptedBlock::Refusal(pieces) => (&mut refusal, pieces),
            ScriptedBlock::Text { pieces, .. } => (&mut content, pieces),
            ScriptedBlock::CustomCall { .. } | ScriptedBlock::ToolCall { .. } => continue,
        };
        place
            .get_or_insert_with(String::new)
            .push_str(&pieces.concat());
    }
    let calls: Vec<Value> = calls(reply)
        .into_iter()
        .map(|call| {
            let (id, name, all) = (call.id, call.name, call.pieces.concat());
            let mut whole = if call.json {
                let function = json!({ "name": name, "arguments": all });
                json!({ "id": id, "type": "function", "function": function })
            } else {
                let custom = json!({ "name": name, "input": all });
                json!({ "id": id, "type": "custom", "custom": custom })
            };
            call.set_state(&mut whole);
            whole
        })
        .collect();
    let mut message = json!({
        "role": "assistant", "content": content, "refusal": refusal, "annotations": [],
    });
    set(&mut message, "reasoning_content", reasoning);
    set(
        &mut message,
        "tool_calls",
        (!calls.is_empty()).then_some(calls),
    );
    let choice = json!({
        "index": 0, "message": message, "logprobs": null, "finish_reason": finish,
    });
    json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1_795_000_000, "model": MODEL,
        "choices": [choice], "usage": usage(reply), "service_tier": "default",
    })
}

pub(super) fn streamed(reply: &VendorReply, finish: &str, usage_apart: bool) -> WireReply {
    let manner = reply.manner;
    let mut deltas = vec![json!({ "content": "", "refusal": null })];
    for block in &reply.blocks {
        let (field, pieces) = match block {
            ScriptedBlock::Reasoning { pieces, .. } => ("reasoning_content", pieces),
            ScriptedBlock::Refusal(pieces) => ("refusal", pieces),
            ScriptedBlock::Text { pieces, .. } => ("content", pieces),
            ScriptedBlock::CustomCall { .. } | ScriptedBlock::ToolCall { .. } => continue,
        };
        deltas.extend(pieces.iter().map(|piece| json!({ field: piece })));
    }
    let calls = calls(reply);
    let first = calls.first().map_or("", |call| call.id);
    let mut pieces: Vec<Vec<Value>> = (0..)
        .zip(&calls)
        .map(|(place, call)| fragments(manner, place, first, *call))
        .collect();
    if manner == Manner::CallsInOnePiece && !pieces.is_empty() {
        deltas.push(json!({ "tool_calls": pieces.concat() }));
    } else if manner == Manner::ArgumentsInterleaved {
        while pieces.iter().any(|call| !call.is_empty()) {
            for call in pieces.iter_mut().filter(|call| !call.is_empty()) {
                deltas.push(json!({ "tool_calls": [call.remove(0)] }));
            }
        }
    } else {
        let each = pieces.into_iter().flatten();
        deltas.extend(each.map(|fragment| json!({ "tool_calls": [fragment] })));
    }
    deltas.push(json!({}));
    let last = deltas.len() - 1;
    let mut chunks: Vec<Value> = (0..)
        .zip(deltas)
        .map(|(place, mut delta)| {
            let with_role =
                (place == 0 && manner != Manner::RoleMissing) || manner == Manner::RoleRepeated;
            set(&mut delta, "role", with_role.then_some("assistant"));
            if manner == Manner::NullsForNothing {
                for field in ["content", "refusal", "tool_calls", "function_call"] {
                    if delta.get(field).is_none() {
                        delta[field] = Value::Null;
                    }
                }
            }
            let finish = (place == last).then_some(finish);
            chunk(json!([{
                "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish,
            }]))
        })
        .collect();
    let ending = chunks.len();
    if manner == Manner::UsageInEachPiece {
        for (place, chunk) in (1_u64..).zip(&mut chunks) {
            chunk["usage"] = usage(reply);
            if place < u64::try_from(ending).unwrap() {
                chunk["usage"]["completion_tokens"] = json!(place.min(reply.usage.output));
            }
        }
    } else if manner != Manner::UsageMissing && !usage_apart {
        chunks[last]["usage"] = usage(reply);
    } else if manner != Manner::UsageMissing {
        let mut own = chunk(json!([]));
        own["usage"] = usage(reply);
        chunks.push(own);
    }
    let end = (manner != Manner::EndMarkerMissing).then(|| "data: [DONE]\n\n".into());
    let mut wire = WireReply::events(chunks.iter().map(data).chain(end));
    wire.ending = ending;
    wire
}

fn chunk(choices: Value) -> Value {
    json!({
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_795_000_000,
        "model": MODEL, "service_tier": "default", "choices": choices, "usage": null,
        "obfuscation": "aZ3",
    })
}

/// The pieces of a call.
fn fragments(manner: Manner, place: usize, first: &str, call: Call<'_>) -> Vec<Value> {
    let Call {
        id: own,
        json,
        name,
        pieces,
        ..
    } = call;
    let (kind, field) = if json {
        ("function", "arguments")
    } else {
        ("custom", "input")
    };
    let all = pieces.concat();
    let at_once = manner == Manner::ArgumentsAtOnce || manner == Manner::CallsInOnePiece;
    let says_nothing =
        all.is_empty() && (manner == Manner::ArgumentsMissing || manner == Manner::ArgumentsNull);
    let mut what = json!({ "name": name, field: "" });
    let mut rest: Vec<Value> = Vec::new();
    if json && manner == Manner::ArgumentsAsObject {
        let object = if all.is_empty() { "{}" } else { &all };
        what[field] = serde_json::from_str(object).unwrap();
    } else if at_once {
        what[field] = json!(all);
    } else if says_nothing {
        what = json!({ "name": name });
        let null = (manner == Manner::ArgumentsNull).then_some(Value::Null);
        set(&mut what, field, null);
    } else {
        let mut told = String::new();
        for piece in pieces {
            told.push_str(piece);
            let said = if manner == Manner::ArgumentsCumulative {
                &told
            } else {
                piece
            };
            rest.push(json!({ field: said }));
        }
    }
    if manner == Manner::NameLate {
        what.as_object_mut().unwrap().remove("name");
        rest.push(json!({ "name": name }));
    }
    if manner == Manner::NameRepeated {
        for piece in &mut rest {
            piece["name"] = json!(name);
        }
    }
    let emptied = manner == Manner::LaterIdAndNameEmpty;
    if emptied {
        for piece in &mut rest {
            piece["name"] = json!("");
        }
    }
    let mut begin = json!({ "type": kind, kind: what });
    set(&mut begin, "id", id(manner, first, own));
    call.set_state(&mut begin);
    let mut fragments = vec![begin];
    for mut what in rest {
        let mut fragment = json!({});
        if manner == Manner::NullsForNothing {
            fragment = json!({ "id": null, "type": null });
            what["name"] = Value::Null;
        }
        set(&mut fragment, "id", emptied.then_some(""));
        fragment[kind] = what;
        fragments.push(fragment);
    }
    for fragment in &mut fragments {
        set(fragment, "index", index(manner, place));
    }
    fragments
}
