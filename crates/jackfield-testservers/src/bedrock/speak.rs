//! Bedrock's wire format of a reply.
//!
//! Written by hand from the service model (`botocore` 1.44.8), so that our mappers do not verify themselves.

use jackfield_domain::reply::FinishReason;
use jackfield_testkit::server::Response;
use serde_json::{Value, json};

use super::{frame, request_id};
use crate::script::{ScriptPart, ScriptReply, cut};

/// The response with a reply: a stream of frames, or one document.
pub(super) fn respond(asked: &Value, reply: &ScriptReply, nth: usize, is_stream: bool) -> Response {
    let response = if is_stream {
        Response::new(200)
            .header("content-type", "application/vnd.amazon.eventstream")
            .send(events(asked, reply, nth))
    } else {
        Response::json(200, whole(asked, reply, nth).to_string())
    };
    response.header("x-amzn-requestid", request_id(nth))
}

fn events(asked: &Value, reply: &ScriptReply, nth: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut push = |kind: &str, mut data: Value| {
        // Padding, as the vendor sends it against guesses by length.
        data["p"] = json!("abcdefgh");
        bytes.extend(frame::event(kind, &data.to_string()));
    };
    push("messageStart", json!({ "role": "assistant" }));
    for (index, part) in reply.parts.iter().enumerate() {
        if let Some((id, name)) = call(part, nth, index) {
            let start = json!({ "toolUse": { "toolUseId": id, "name": name } });
            push(
                "contentBlockStart",
                json!({ "contentBlockIndex": index, "start": start }),
            );
        }
        for delta in pieces(part) {
            push(
                "contentBlockDelta",
                json!({ "contentBlockIndex": index, "delta": delta }),
            );
        }
        push("contentBlockStop", json!({ "contentBlockIndex": index }));
    }
    let mut stop = json!({ "stopReason": stop_reason(&reply.finish()) });
    // The model's own event that ends a stream has it there.
    if let Some(met) = told_stop(asked, reply, "/delta/stop_sequence") {
        stop["additionalModelResponseFields"] = json!({ "delta": { "stop_sequence": met } });
    }
    push("messageStop", stop);
    push(
        "metadata",
        json!({ "usage": usage(reply), "metrics": { "latencyMs": 551 } }),
    );
    bytes
}

fn whole(asked: &Value, reply: &ScriptReply, nth: usize) -> Value {
    let blocks = reply.parts.iter().enumerate().map(|(index, part)| match part {
        ScriptPart::Call { arguments, .. } => {
            let (id, name) = call(part, nth, index).unwrap_or_default();
            let input = serde_json::from_str(arguments).unwrap_or_else(|_| json!({}));
            json!({ "toolUse": { "toolUseId": id, "name": name, "input": input } })
        }
        ScriptPart::TextCall { input, .. } => {
            let (id, name) = call(part, nth, index).unwrap_or_default();
            json!({ "toolUse": { "toolUseId": id, "name": name, "input": { "input": input } } })
        }
        ScriptPart::Refusal(text) | ScriptPart::Text(text) => json!({ "text": text }),
        ScriptPart::Thinking { signature, text } => {
            json!({ "reasoningContent": { "reasoningText": { "text": text, "signature": signature } } })
        }
    });
    let blocks: Vec<Value> = blocks.collect();
    let mut body = json!({
        "output": { "message": { "role": "assistant", "content": blocks } },
        "stopReason": stop_reason(&reply.finish()),
        "usage": usage(reply),
        "metrics": { "latencyMs": 551 },
    });
    if let Some(met) = told_stop(asked, reply, "/stop_sequence") {
        body["additionalModelResponseFields"] = json!({ "stop_sequence": met });
    }
    body
}

/// What a field of Claude's own reply says about the stop sequence, if the request asks for it.
fn told_stop(asked: &Value, reply: &ScriptReply, path: &str) -> Option<Value> {
    let paths = asked.get("additionalModelResponseFieldPaths")?.as_array()?;
    let is_asked = paths.iter().any(|known| known == path);
    is_asked.then(|| match reply.finish() {
        FinishReason::StopSequence(text) => json!(*text),
        FinishReason::ContentFilter
        | FinishReason::ContextFull
        | FinishReason::Length
        | FinishReason::Paused
        | FinishReason::Refused
        | FinishReason::Stop
        | FinishReason::ToolCalls
        | FinishReason::Unrecognized(_) => Value::Null,
    })
}

/// The id and the name of a call.
fn call(part: &ScriptPart, nth: usize, index: usize) -> Option<(String, String)> {
    match part {
        ScriptPart::Call { id, name, .. } | ScriptPart::TextCall { id, name, .. } => {
            let own = || format!("tooluse_scripted{nth}x{index}");
            Some((id.clone().unwrap_or_else(own), name.clone()))
        }
        ScriptPart::Refusal(_) | ScriptPart::Text(_) | ScriptPart::Thinking { .. } => None,
    }
}

fn pieces(part: &ScriptPart) -> Vec<Value> {
    match part {
        ScriptPart::Call { arguments, .. } => {
            let pieces = cut(arguments).map(|piece| json!({ "toolUse": { "input": piece } }));
            pieces.collect()
        }
        ScriptPart::TextCall { input, .. } => {
            let input = json!({ "input": input }).to_string();
            vec![json!({ "toolUse": { "input": input } })]
        }
        ScriptPart::Refusal(text) | ScriptPart::Text(text) => {
            cut(text).map(|piece| json!({ "text": piece })).collect()
        }
        ScriptPart::Thinking { signature, text } => {
            let pieces = cut(text).map(|piece| json!({ "reasoningContent": { "text": piece } }));
            let signed = json!({ "reasoningContent": { "signature": signature } });
            pieces.chain([signed]).collect()
        }
    }
}

fn usage(reply: &ScriptReply) -> Value {
    let usage = &reply.usage;
    let cached = usage.cache_read + usage.cache_write;
    json!({
        "inputTokens": usage.input - cached,
        "outputTokens": usage.output,
        "totalTokens": usage.input + usage.output,
        "cacheReadInputTokens": usage.cache_read,
        "cacheWriteInputTokens": usage.cache_write,
    })
}

fn stop_reason(finish: &FinishReason) -> &str {
    match finish {
        FinishReason::ContentFilter | FinishReason::Refused => "content_filtered",
        FinishReason::ContextFull => "model_context_window_exceeded",
        FinishReason::Length => "max_tokens",
        FinishReason::Paused | FinishReason::Stop => "end_turn",
        FinishReason::StopSequence(_) => "stop_sequence",
        FinishReason::ToolCalls => "tool_use",
        FinishReason::Unrecognized(reason) => reason,
    }
}
