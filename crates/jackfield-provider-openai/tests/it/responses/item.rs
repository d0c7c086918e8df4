//! The items of a response, and the events that tell them.

use jackfield_testkit::contract::chat_model::{Manner, ScriptedBlock, VendorReply};
use serde_json::{Value, json};

use crate::harness::{id, set};

/// An item of the output, and its events between those that add it and end it.
pub(super) struct Item<'a> {
    pub(super) block: &'a ScriptedBlock,
    /// The `call_id`; none for what is no call, and where it is missing.
    call_id: Option<String>,
}

pub(super) fn item<'a>(reply: &'a VendorReply, block: &'a ScriptedBlock) -> Item<'a> {
    let own = |block: &'a ScriptedBlock| match block {
        ScriptedBlock::CustomCall { id, .. } | ScriptedBlock::ToolCall { id, .. } => Some(&**id),
        ScriptedBlock::Reasoning { .. }
        | ScriptedBlock::Refusal(_)
        | ScriptedBlock::Text { .. } => None,
    };
    let first = reply.blocks.iter().find_map(own).unwrap_or_default();
    let call_id = own(block).and_then(|own| id(reply.manner, first, own));
    Item { block, call_id }
}

impl Item<'_> {
    /// The item as it ends.
    pub(super) fn done(&self, manner: Manner, place: usize) -> Value {
        let mut item = match self.block {
            ScriptedBlock::CustomCall { input, name, .. } => json!({
                "id": format!("ctc_{place}"), "type": "custom_tool_call", "status": "completed",
                "name": name, "input": input.concat(),
            }),
            ScriptedBlock::Reasoning { pieces, state } => json!({
                "id": format!("rs_{place}"), "type": "reasoning", "status": "completed",
                "summary": summary(pieces), "encrypted_content": state,
            }),
            ScriptedBlock::Refusal(pieces) => message(place, refusal(&pieces.concat())),
            ScriptedBlock::Text { pieces, state } => {
                let mut item = message(place, output_text(&pieces.concat()));
                set(&mut item, "id", state.clone());
                item
            }
            ScriptedBlock::ToolCall {
                arguments,
                name,
                state,
                ..
            } => {
                let all = arguments.concat();
                let mut item = json!({
                    "id": format!("fc_{place}"), "type": "function_call", "status": "completed",
                    "name": name,
                });
                set(&mut item, "id", state.clone());
                set(&mut item, "arguments", said(manner, &all));
                item
            }
        };
        set(&mut item, "call_id", self.call_id.clone());
        if manner == Manner::RoleMissing {
            item.as_object_mut().unwrap().remove("role");
        }
        if manner == Manner::NullsForNothing {
            for field in ["phase", "namespace", "caller", "encrypted_content"] {
                if item.get(field).is_none() {
                    item[field] = Value::Null;
                }
            }
        }
        item
    }

    /// The item as it is added.
    pub(super) fn added(&self, manner: Manner, place: usize) -> Value {
        let mut item = self.done(manner, place);
        item["status"] = json!("in_progress");
        match self.block {
            ScriptedBlock::CustomCall { .. } if manner != Manner::ArgumentsAtOnce => {
                item["input"] = json!("");
            }
            ScriptedBlock::Reasoning { .. } => {
                item["summary"] = json!([]);
                // It may be there already, and not be whole.
                item["encrypted_content"] = json!("gAAA");
            }
            ScriptedBlock::Refusal(_) | ScriptedBlock::Text { .. } => item["content"] = json!([]),
            ScriptedBlock::ToolCall { .. } if manner != Manner::ArgumentsAtOnce => {
                set(&mut item, "arguments", said(manner, ""));
                if said(manner, "").is_none() {
                    item.as_object_mut().unwrap().remove("arguments");
                }
            }
            ScriptedBlock::CustomCall { .. } | ScriptedBlock::ToolCall { .. } => {}
        }
        item
    }

    pub(super) fn events(&self, manner: Manner) -> Vec<Value> {
        let silent = manner == Manner::ArgumentsAtOnce || manner == Manner::ArgumentsAtEnd;
        let deltas = |kind: &str, pieces: &[String]| -> Vec<Value> {
            let pieces = pieces.iter();
            pieces
                .map(|piece| json!({ "type": kind, "delta": piece }))
                .collect()
        };
        match self.block {
            ScriptedBlock::CustomCall { input, .. } => {
                let kind = "response.custom_tool_call_input.delta";
                let mut events = if silent {
                    Vec::new()
                } else {
                    deltas(kind, input)
                };
                let kind = "response.custom_tool_call_input.done";
                events.push(json!({ "type": kind, "input": input.concat() }));
                events
            }
            ScriptedBlock::Reasoning { pieces, .. } if pieces.is_empty() => Vec::new(),
            ScriptedBlock::Reasoning { pieces, .. } => {
                let blank = json!({ "type": "summary_text", "text": "" });
                let whole = json!({ "type": "summary_text", "text": pieces.concat() });
                let mut events =
                    vec![json!({ "type": "response.reasoning_summary_part.added", "part": blank })];
                events.extend(deltas("response.reasoning_summary_text.delta", pieces));
                let kind = "response.reasoning_summary_text.done";
                events.push(json!({ "type": kind, "text": pieces.concat() }));
                let kind = "response.reasoning_summary_part.done";
                events.push(json!({ "type": kind, "part": whole }));
                for event in &mut events {
                    event["summary_index"] = json!(0);
                }
                events
            }
            ScriptedBlock::Refusal(pieces) => part(
                &refusal(""),
                deltas("response.refusal.delta", pieces),
                json!({ "type": "response.refusal.done", "refusal": pieces.concat() }),
                &refusal(&pieces.concat()),
            ),
            ScriptedBlock::Text { pieces, .. } => part(
                &output_text(""),
                deltas("response.output_text.delta", pieces),
                json!({
                    "type": "response.output_text.done", "text": pieces.concat(), "logprobs": [],
                }),
                &output_text(&pieces.concat()),
            ),
            ScriptedBlock::ToolCall { arguments, .. } => {
                let kind = "response.function_call_arguments.delta";
                let mut events = if silent {
                    Vec::new()
                } else {
                    deltas(kind, arguments)
                };
                let all = arguments.concat();
                let mut done = json!({ "type": "response.function_call_arguments.done" });
                set(&mut done, "arguments", said(manner, &all));
                events.push(done);
                events
            }
        }
    }
}

/// Arguments, in a manner that may say nothing about them where there are none.
fn said(manner: Manner, arguments: &str) -> Option<Value> {
    if !arguments.is_empty() {
        return Some(json!(arguments));
    }
    if manner == Manner::ArgumentsMissing {
        return None;
    }
    Some(if manner == Manner::ArgumentsNull {
        Value::Null
    } else {
        json!("")
    })
}

fn message(place: usize, part: Value) -> Value {
    json!({
        "id": format!("msg_{place}"), "type": "message", "status": "completed",
        "role": "assistant", "content": [part],
    })
}

fn output_text(text: &str) -> Value {
    json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] })
}

fn refusal(text: &str) -> Value {
    json!({ "type": "refusal", "refusal": text })
}

fn summary(pieces: &[String]) -> Value {
    if pieces.is_empty() {
        return json!([]);
    }
    json!([{ "type": "summary_text", "text": pieces.concat() }])
}

/// The events of the one part of a message.
fn part(blank: &Value, deltas: Vec<Value>, done: Value, whole: &Value) -> Vec<Value> {
    let mut events = vec![json!({ "type": "response.content_part.added", "part": blank })];
    events.extend(deltas);
    events.push(done);
    events.push(json!({ "type": "response.content_part.done", "part": whole }));
    for event in &mut events {
        event["content_index"] = json!(0);
    }
    events
}
