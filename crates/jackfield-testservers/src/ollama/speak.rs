//! Ollama's wire format of a reply.
//!
//! Written by hand from `docs/api.md` and `server/routes.go` (2026-08), so that our mappers do not verify themselves.

use jackfield_domain::reply::FinishReason;
use jackfield_testkit::server::Response;
use serde_json::{Value, json};

use crate::script::{ScriptPart, ScriptReply, cut};

/// The response with a reply: lines, or one document.
pub(super) fn respond(reply: &ScriptReply, model: &str, nth: usize, is_stream: bool) -> Response {
    let (mut content, mut thinking) = (String::new(), String::new());
    let mut calls = Vec::new();
    let mut pieces = Vec::new();
    for (place, part) in reply.parts.iter().enumerate() {
        let mut call = |given: &Option<String>, name: &str, arguments: Value| {
            let own = || format!("call_scripted{nth}x{place}");
            let id = given.clone().unwrap_or_else(own);
            let function = json!({ "index": calls.len(), "name": name, "arguments": arguments });
            let call = json!({ "id": id, "function": function });
            calls.push(call.clone());
            pieces.push(json!({ "role": "assistant", "content": "", "tool_calls": [call] }));
        };
        match part {
            ScriptPart::Call {
                arguments,
                id,
                name,
            } => {
                let arguments = serde_json::from_str(arguments).unwrap_or_else(|_| json!({}));
                call(id, name, arguments);
            }
            ScriptPart::TextCall { id, input, name } => {
                call(id, name, json!({ "input": input }));
            }
            ScriptPart::Refusal(text) | ScriptPart::Text(text) => {
                content.push_str(text);
                let more = cut(text).map(|piece| json!({ "role": "assistant", "content": piece }));
                pieces.extend(more);
            }
            // Nothing proves where a thought comes from.
            ScriptPart::Thinking { text, .. } => {
                thinking.push_str(text);
                let more = cut(text)
                    .map(|piece| json!({ "role": "assistant", "content": "", "thinking": piece }));
                pieces.extend(more);
            }
        }
    }
    let line = |message: Value| {
        json!({
            "model": model,
            "created_at": "2026-08-21T08:52:19.385406455-07:00",
            "message": message,
            "done": false,
        })
    };
    let finish = reply.finish();
    let mut last = line(json!({ "role": "assistant", "content": "" }));
    last["done"] = json!(true);
    last["done_reason"] = json!(done_reason(&finish));
    last["total_duration"] = json!(5_191_566_416_u64);
    last["prompt_eval_count"] = json!(reply.usage.input);
    last["eval_count"] = json!(reply.usage.output);
    if !is_stream {
        let message = &mut last["message"];
        message["content"] = json!(content);
        if !thinking.is_empty() {
            message["thinking"] = json!(thinking);
        }
        if !calls.is_empty() {
            message["tool_calls"] = json!(calls);
        }
        return Response::json(200, last.to_string());
    }
    let lines = pieces.into_iter().map(line).chain([last]);
    let body: String = lines.map(|line| format!("{line}\n")).collect();
    Response::new(200)
        .header("content-type", "application/x-ndjson")
        .send(body)
}

fn done_reason(finish: &FinishReason) -> &str {
    match finish {
        FinishReason::ContextFull | FinishReason::Length => "length",
        FinishReason::Unrecognized(reason) => reason,
        FinishReason::ContentFilter
        | FinishReason::Paused
        | FinishReason::Refused
        | FinishReason::Stop
        | FinishReason::StopSequence(_)
        | FinishReason::ToolCalls => "stop",
    }
}
