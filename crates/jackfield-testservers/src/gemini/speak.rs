//! The vendor's wire format of a reply.
//!
//! Written by hand from the vendor's documents, so that our mappers do not verify themselves.

use jackfield_domain::reply::FinishReason;
use jackfield_domain::usage::Usage;
use jackfield_testkit::server::Response;
use serde_json::{Value, json};

use crate::script::{ScriptPart, ScriptReply, cut};

/// The parts of a reply. A signature stands on the call or the text that follows its thought, as the vendor does it.
pub(super) fn parts(reply: &ScriptReply, nth: usize) -> Vec<Value> {
    let mut parts = Vec::new();
    let mut signature: Option<&str> = None;
    for (place, part) in reply.parts.iter().enumerate() {
        let id = |given: &Option<String>| {
            let own = || format!("scripted{nth}x{place}");
            given.clone().unwrap_or_else(own)
        };
        let mut said = match part {
            ScriptPart::Call {
                arguments,
                id: given,
                name,
            } => {
                let args: Value = serde_json::from_str(arguments).unwrap_or_else(|_| json!({}));
                json!({ "functionCall": { "id": id(given), "name": name, "args": args } })
            }
            ScriptPart::Refusal(text) | ScriptPart::Text(text) => json!({ "text": text }),
            ScriptPart::TextCall {
                id: given,
                input,
                name,
            } => {
                json!({ "functionCall": { "id": id(given), "name": name, "args": { "input": input } } })
            }
            ScriptPart::Thinking {
                signature: own,
                text,
            } => {
                signature = Some(own);
                parts.push(json!({ "text": text, "thought": true }));
                continue;
            }
        };
        if let Some(signature) = signature.take() {
            said["thoughtSignature"] = json!(signature);
        }
        parts.push(said);
    }
    // A thought that nothing follows.
    if let Some(signature) = signature {
        parts.push(json!({ "text": "", "thoughtSignature": signature }));
    }
    parts
}

/// The response with a reply: events, or one document.
pub(super) fn respond(
    reply: &ScriptReply,
    parts: Vec<Value>,
    model: &str,
    nth: usize,
    is_stream: bool,
) -> Response {
    let finish = reply.finish();
    let reason = finish_reason(&finish);
    let fragment = |parts: Vec<Value>| {
        json!({
            "candidates": [{ "content": { "parts": parts, "role": "model" }, "index": 0 }],
            "usageMetadata": usage(&reply.usage),
            "modelVersion": model,
            "responseId": format!("scripted_{nth}"),
        })
    };
    if !is_stream {
        let mut whole = fragment(parts);
        whole["candidates"][0]["finishReason"] = json!(reason);
        return Response::json(200, whole.to_string());
    }
    let mut events = String::new();
    let mut write = |fragment: Value| events.push_str(&format!("data: {fragment}\r\n\r\n"));
    for part in parts {
        let is_signed = part.get("thoughtSignature").is_some();
        let text = part
            .get("text")
            .and_then(Value::as_str)
            .filter(|_| !is_signed);
        match text {
            Some(text) => {
                for piece in cut(text) {
                    let mut said = part.clone();
                    said["text"] = json!(piece);
                    write(fragment(vec![said]));
                }
            }
            None => write(fragment(vec![part])),
        }
    }
    let mut last = fragment(vec![json!({ "text": "" })]);
    last["candidates"][0]["finishReason"] = json!(reason);
    write(last);
    Response::event_stream(events)
}

/// The response with an error.
pub(super) fn refuse(status: u16, name: &str, message: &str) -> Response {
    let error = json!({ "code": status, "message": message, "status": name });
    Response::json(status, json!({ "error": error }).to_string())
}

fn usage(usage: &Usage) -> Value {
    json!({
        "promptTokenCount": usage.input,
        "cachedContentTokenCount": usage.cache_read,
        "candidatesTokenCount": usage.output.saturating_sub(usage.reasoning),
        "thoughtsTokenCount": usage.reasoning,
        "totalTokenCount": usage.total(),
    })
}

fn finish_reason(finish: &FinishReason) -> &str {
    match finish {
        FinishReason::ContentFilter | FinishReason::Refused => "SAFETY",
        FinishReason::ContextFull | FinishReason::Length => "MAX_TOKENS",
        FinishReason::Paused => "OTHER",
        FinishReason::Stop | FinishReason::StopSequence(_) | FinishReason::ToolCalls => "STOP",
        FinishReason::Unrecognized(reason) => reason,
    }
}
