//! Replies on Claude's wire in every manner, by the documentation of 2026-10-21.

use jackfield_domain::reply::FinishReason;
use jackfield_testkit::contract::chat_model::{Manner, ScriptedBlock, VendorReply, WireReply};
use serde_json::{Map, Value, json};

use crate::harness::{MODEL, event};

/// How the vendor, or a server that only claims to be it, sends a reply.
pub(crate) fn render(reply: &VendorReply) -> Option<WireReply> {
    let manner = reply.manner;
    let impossible = [
        Manner::ArgumentsAtEnd,
        Manner::ArgumentsAtOnce,
        Manner::ArgumentsCumulative,
        Manner::CallsInOnePiece,
        Manner::EndMarkerMissing,
        Manner::IndexMissing,
        Manner::IndexNegative,
        Manner::LaterIdAndNameEmpty,
        Manner::NameLate,
        Manner::NameRepeated,
        Manner::RoleRepeated,
    ];
    if impossible.contains(&manner) {
        return None;
    }
    let (reason, sequence) = match &reply.finish {
        FinishReason::ToolCalls if manner == Manner::FinishSaysStop => ("end_turn", None),
        FinishReason::ContextFull => ("model_context_window_exceeded", None),
        FinishReason::Length => ("max_tokens", None),
        FinishReason::Paused => ("pause_turn", None),
        FinishReason::Refused => ("refusal", None),
        FinishReason::Stop => ("end_turn", None),
        FinishReason::StopSequence(text) => ("stop_sequence", Some(&**text)),
        FinishReason::ToolCalls => ("tool_use", None),
        FinishReason::Unrecognized(reason) => (&**reason, None),
        // The vendor calls this a refusal, too.
        FinishReason::ContentFilter => return None,
    };
    let mut blocks = Vec::new();
    let mut first = None;
    for block in &reply.blocks {
        blocks.push(Told::of(block, manner, &mut first)?);
    }
    let mut message = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": MODEL,
        "content": [], "stop_reason": null, "stop_sequence": null,
    });
    if manner == Manner::RoleMissing {
        message.as_object_mut().unwrap().shift_remove("role");
    }
    if manner == Manner::NotStreamed {
        message["content"] = blocks.iter().map(Told::whole).collect::<Option<_>>()?;
        message["stop_reason"] = json!(reason);
        message["stop_sequence"] = json!(sequence);
        message["usage"] = usage(reply, reply.usage.output);
        return Some(WireReply::json(200, message.to_string()));
    }
    let counted = manner != Manner::UsageMissing;
    if counted {
        message["usage"] = usage(reply, 1);
    }
    let mut events = vec![
        json!({ "type": "message_start", "message": message }),
        json!({ "type": "ping" }),
    ];
    for mut event in told(blocks, manner) {
        if manner == Manner::NullsForNothing {
            nulls(&mut event);
        }
        events.push(event);
        if manner == Manner::UsageInEachPiece {
            let so_far = usage(reply, 2);
            events.push(json!({ "type": "message_delta", "delta": {}, "usage": so_far }));
        }
    }
    let more = |output| {
        let mut more = json!({ "output_tokens": output });
        if reply.usage.reasoning > 0 {
            more["output_tokens_details"] = json!({ "thinking_tokens": reply.usage.reasoning });
        }
        more
    };
    let last = json!({ "stop_reason": reason, "stop_sequence": sequence });
    if manner == Manner::UsageApart || !counted {
        events.push(json!({ "type": "message_delta", "delta": last }));
    } else {
        // Usage is cumulative, and may be told more than once.
        events.push(json!({ "type": "message_delta", "delta": {}, "usage": more(2) }));
    }
    if manner == Manner::UsageApart {
        let all = more(reply.usage.output);
        events.push(json!({ "type": "message_delta", "delta": {}, "usage": all }));
    } else if counted {
        let all = more(reply.usage.output);
        events.push(json!({ "type": "message_delta", "delta": last, "usage": all }));
    }
    events.push(json!({ "type": "message_stop" }));
    let wire = WireReply::events(events.iter().map(event));
    Some(wire.header("request-id", "req_1"))
}

/// A block as it is told.
struct Told {
    begin: Value,
    deltas: Vec<Value>,
}

impl Told {
    fn of(block: &ScriptedBlock, manner: Manner, first: &mut Option<String>) -> Option<Self> {
        let deltas = |kind: &str, field: &str, pieces: &[String]| -> Vec<Value> {
            let pieces = pieces.iter();
            pieces
                .map(|piece| json!({ "type": kind, field: piece }))
                .collect()
        };
        Some(match block {
            ScriptedBlock::CustomCall { .. } | ScriptedBlock::Refusal(_) => return None,
            ScriptedBlock::Reasoning { pieces, state } => {
                let mut deltas = deltas("thinking_delta", "thinking", pieces);
                deltas.push(json!({ "type": "signature_delta", "signature": state }));
                let begin = json!({ "type": "thinking", "thinking": "", "signature": "" });
                Self { begin, deltas }
            }
            ScriptedBlock::Text { pieces, .. } => Self {
                begin: json!({ "type": "text", "text": "" }),
                deltas: deltas("text_delta", "text", pieces),
            },
            ScriptedBlock::ToolCall {
                arguments,
                id,
                name,
                state,
            } => {
                let mut begin = json!({ "type": "tool_use", "id": id, "name": name, "input": {} });
                if let Some(state) = state {
                    let kind = "code_execution_20260120";
                    begin["caller"] = json!({ "type": kind, "tool_id": state });
                }
                let mut deltas = deltas("input_json_delta", "partial_json", arguments);
                let whole = arguments.concat();
                match manner {
                    Manner::ArgumentsAsObject if !whole.is_empty() => {
                        begin["input"] = serde_json::from_str(&whole).unwrap();
                        deltas.clear();
                    }
                    Manner::ArgumentsEmpty if whole.is_empty() => {
                        deltas.push(json!({ "type": "input_json_delta", "partial_json": "" }));
                    }
                    Manner::ArgumentsMissing if whole.is_empty() => {
                        begin.as_object_mut().unwrap().shift_remove("input");
                    }
                    Manner::ArgumentsNull if whole.is_empty() => begin["input"] = Value::Null,
                    Manner::IdEmpty => begin["id"] = json!(""),
                    Manner::IdMissing => {
                        begin.as_object_mut().unwrap().shift_remove("id");
                    }
                    Manner::IdSame => begin["id"] = json!(first.get_or_insert_with(|| id.clone())),
                    _ => {}
                }
                Self { begin, deltas }
            }
        })
    }

    /// The block as it stands in a reply that comes in one piece; none if it cannot.
    fn whole(&self) -> Option<Value> {
        let mut block = self.begin.clone();
        let mut input = String::new();
        for delta in &self.deltas {
            let delta = delta.as_object().unwrap();
            for (name, piece) in delta.iter().filter(|(name, _)| *name != "type") {
                let piece = piece.as_str().unwrap();
                if name == "partial_json" {
                    input.push_str(piece);
                } else {
                    block[name] = json!(block[name].as_str().unwrap().to_owned() + piece);
                }
            }
        }
        if !input.is_empty() {
            block["input"] = serde_json::from_str(&input).ok()?;
        }
        Some(block)
    }
}

/// The events of all blocks.
fn told(blocks: Vec<Told>, manner: Manner) -> Vec<Value> {
    let number = |place: usize| match manner {
        Manner::IndexOneBased => place + 1,
        Manner::IndexReused => 0,
        _ => place,
    };
    let begin = |place, block: &Told| json!({ "type": "content_block_start", "index": number(place), "content_block": block.begin });
    let delta = |place, delta: &Value| json!({ "type": "content_block_delta", "index": number(place), "delta": delta });
    let end = |place| json!({ "type": "content_block_stop", "index": number(place) });
    let mut events = Vec::new();
    if manner == Manner::ArgumentsInterleaved {
        let turns = blocks.iter().map(|block| block.deltas.len()).max();
        let all = || blocks.iter().enumerate();
        events.extend(all().map(|(place, block)| begin(place, block)));
        for turn in 0..turns.unwrap_or(0) {
            let pieces = all().filter_map(|(place, block)| Some((place, block.deltas.get(turn)?)));
            events.extend(pieces.map(|(place, piece)| delta(place, piece)));
        }
        events.extend(all().map(|(place, _)| end(place)));
        return events;
    }
    for (place, block) in blocks.iter().enumerate() {
        events.push(begin(place, block));
        events.extend(block.deltas.iter().map(|piece| delta(place, piece)));
        events.push(end(place));
    }
    events
}

fn usage(reply: &VendorReply, output: u64) -> Value {
    let usage = &reply.usage;
    json!({
        "input_tokens": usage.input - usage.cache_read - usage.cache_write,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": output,
        "output_tokens_details": { "thinking_tokens": usage.reasoning },
    })
}

/// Every field that some event or piece has, with nothing in it.
fn nulls(event: &mut Value) {
    let fill = |fields: &mut Map<String, Value>, names: &[&str]| {
        for name in names {
            fields.entry(*name).or_insert(Value::Null);
        }
    };
    let events = ["content_block", "delta", "error", "message", "usage"];
    fill(event.as_object_mut().unwrap(), &events);
    if let Some(delta) = event["delta"].as_object_mut() {
        let pieces = [
            "citation",
            "partial_json",
            "signature",
            "stop_reason",
            "text",
            "thinking",
        ];
        fill(delta, &pieces);
    }
    if let Some(block) = event["content_block"].as_object_mut() {
        fill(block, &["caller", "citations", "signature", "toolset_name"]);
    }
}
