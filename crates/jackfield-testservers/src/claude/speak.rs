//! The vendor's wire format of a reply.
//!
//! Written by hand from the vendor's documents, so that our mappers do not verify themselves.

use jackfield_domain::reply::FinishReason;
use jackfield_domain::usage::Usage;
use jackfield_testkit::server::Response;
use serde_json::{Map, Value, json};

use crate::script::{ScriptPart, ScriptReply, cut};

/// The response with a reply: events, or one document.
pub(super) fn respond(reply: &ScriptReply, nth: usize, model: &str, stream: bool) -> Response {
    let response = if stream {
        Response::event_stream(events(reply, nth, model))
    } else {
        Response::json(200, message(reply, nth, model).to_string())
    };
    response.header("request-id", format!("req_scripted_{nth}"))
}

/// The response with an error.
pub(super) fn refuse(status: u16, kind: &str, message: &str, nth: usize) -> Response {
    let id = format!("req_scripted_{nth}");
    let body = json!({
        "type": "error",
        "error": { "type": kind, "message": message },
        "request_id": id,
    });
    Response::json(status, body.to_string()).header("request-id", id)
}

/// The id of a call: the script's, or a generated one.
pub(super) fn call_id(given: Option<&str>, nth: usize, place: usize) -> String {
    given.map_or_else(|| format!("toolu_scripted_{nth}_{place}"), str::to_owned)
}

fn message(reply: &ScriptReply, nth: usize, model: &str) -> Value {
    let blocks = reply.parts.iter().enumerate();
    let blocks: Vec<Value> = blocks
        .map(|(place, part)| whole(part, nth, place))
        .collect();
    let finish = reply.finish();
    let (reason, sequence) = stop_reason(&finish);
    json!({
        "id": format!("msg_scripted_{nth}"),
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": blocks,
        "stop_reason": reason,
        "stop_sequence": sequence,
        "stop_details": stop_details(&finish),
        "usage": usage(&reply.usage),
        "container": null,
        "diagnostics": null,
    })
}

fn events(reply: &ScriptReply, nth: usize, model: &str) -> String {
    let mut begun = message(reply, nth, model);
    if let Some(fields) = begun.as_object_mut() {
        let mut used = usage(&reply.usage);
        used["output_tokens"] = json!(1);
        fields.insert("content".to_owned(), json!([]));
        fields.insert("stop_reason".to_owned(), Value::Null);
        fields.insert("stop_sequence".to_owned(), Value::Null);
        fields.insert("stop_details".to_owned(), Value::Null);
        fields.insert("usage".to_owned(), used);
    }
    let mut text = event("message_start", json!({ "message": begun }));
    text.push_str(&event("ping", json!({})));
    for (index, part) in reply.parts.iter().enumerate() {
        let block = started(part, nth, index);
        text.push_str(&event(
            "content_block_start",
            json!({ "index": index, "content_block": block }),
        ));
        for delta in pieces(part) {
            text.push_str(&event(
                "content_block_delta",
                json!({ "index": index, "delta": delta }),
            ));
        }
        text.push_str(&event("content_block_stop", json!({ "index": index })));
    }
    let finish = reply.finish();
    let (reason, sequence) = stop_reason(&finish);
    let delta = json!({
        "stop_reason": reason,
        "stop_sequence": sequence,
        "stop_details": stop_details(&finish),
        "container": null,
    });
    let used = json!({ "output_tokens": reply.usage.output });
    text.push_str(&event(
        "message_delta",
        json!({ "delta": delta, "usage": used }),
    ));
    text.push_str(&event("message_stop", json!({})));
    text
}

fn event(kind: &str, mut data: Value) -> String {
    let mut fields = Map::from_iter([("type".to_owned(), json!(kind))]);
    if let Some(data) = data.as_object_mut() {
        fields.append(data);
    }
    format!("event: {kind}\ndata: {}\n\n", Value::Object(fields))
}

/// A block in a whole reply.
fn whole(part: &ScriptPart, nth: usize, place: usize) -> Value {
    let mut block = started(part, nth, place);
    match part {
        ScriptPart::Call { arguments, .. } => {
            // Only a stream can carry invalid JSON; the vendor's whole replies always have objects.
            block["input"] = serde_json::from_str(arguments).unwrap_or_else(|_| json!({}));
        }
        ScriptPart::Refusal(text) | ScriptPart::Text(text) => block["text"] = json!(text),
        ScriptPart::TextCall { input, .. } => block["input"] = json!({ "input": input }),
        ScriptPart::Thinking { signature, text } => {
            block["thinking"] = json!(text);
            block["signature"] = json!(signature);
        }
    }
    block
}

/// A block at its start in a stream.
fn started(part: &ScriptPart, nth: usize, place: usize) -> Value {
    match part {
        ScriptPart::Call { id, name, .. } | ScriptPart::TextCall { id, name, .. } => json!({
            "type": "tool_use",
            "id": call_id(id.as_deref(), nth, place),
            "name": name,
            "input": {},
            "caller": { "type": "direct" },
        }),
        ScriptPart::Refusal(_) | ScriptPart::Text(_) => {
            json!({ "type": "text", "text": "", "citations": null })
        }
        ScriptPart::Thinking { .. } => {
            json!({ "type": "thinking", "thinking": "", "signature": "" })
        }
    }
}

/// The deltas of a block in a stream.
fn pieces(part: &ScriptPart) -> Vec<Value> {
    match part {
        ScriptPart::Call { arguments, .. } => written(arguments),
        ScriptPart::Refusal(text) | ScriptPart::Text(text) => cut(text)
            .map(|piece| json!({ "type": "text_delta", "text": piece }))
            .collect(),
        ScriptPart::TextCall { input, .. } => written(&json!({ "input": input }).to_string()),
        ScriptPart::Thinking { signature, text } => {
            let texts =
                cut(text).map(|piece| json!({ "type": "thinking_delta", "thinking": piece }));
            let signature = json!({ "type": "signature_delta", "signature": signature });
            texts.chain(std::iter::once(signature)).collect()
        }
    }
}

/// The deltas of a call's arguments.
fn written(arguments: &str) -> Vec<Value> {
    let first = json!({ "type": "input_json_delta", "partial_json": "" });
    // Like the vendor: no text stands for empty arguments.
    let arguments = if arguments == "{}" { "" } else { arguments };
    let rest =
        cut(arguments).map(|piece| json!({ "type": "input_json_delta", "partial_json": piece }));
    std::iter::once(first).chain(rest).collect()
}

fn usage(usage: &Usage) -> Value {
    json!({
        "input_tokens": usage.input.saturating_sub(usage.cache_read).saturating_sub(usage.cache_write),
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": usage.output,
    })
}

/// What a refusal is about.
fn stop_details(finish: &FinishReason) -> Value {
    if *finish == FinishReason::Refused {
        json!({ "type": "refusal", "category": "cyber", "explanation": null })
    } else {
        Value::Null
    }
}

fn stop_reason(finish: &FinishReason) -> (&str, Option<&str>) {
    match finish {
        FinishReason::ContentFilter | FinishReason::Refused => ("refusal", None),
        FinishReason::ContextFull => ("model_context_window_exceeded", None),
        FinishReason::Length => ("max_tokens", None),
        FinishReason::Paused => ("pause_turn", None),
        FinishReason::Stop => ("end_turn", None),
        FinishReason::StopSequence(text) => ("stop_sequence", Some(text)),
        FinishReason::ToolCalls => ("tool_use", None),
        FinishReason::Unrecognized(reason) => (reason, None),
    }
}
