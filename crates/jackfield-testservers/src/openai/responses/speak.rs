//! The wire format of a response.
//!
//! Written by hand from the vendor's documents, so that our mappers do not verify themselves.

use jackfield_domain::reply::FinishReason;
use jackfield_domain::usage::Usage;
use jackfield_testkit::server::Response;
use serde_json::{Value, json};

use super::super::rules::items as list;
use super::super::rules::{has, settings, text};
use super::super::{CREATED, VendorQuirks, ids};
use super::events;
use crate::script::{ScriptPart, ScriptReply};
use crate::vendor::Post;

/// The complete items of a reply.
pub(in crate::openai) fn items(
    asked: &Post<'_>,
    reply: &ScriptReply,
    like: VendorQuirks,
) -> Vec<Value> {
    let cut_off = ending(&reply.finish()).is_some();
    let last = reply.parts.len().saturating_sub(1);
    let parts = reply.parts.iter().enumerate();
    parts
        .map(|(place, part)| {
            let status = if cut_off && place == last {
                "incomplete"
            } else {
                "completed"
            };
            let calls_follow =
                reply.parts.iter().skip(place).any(|part| {
                    matches!(part, ScriptPart::Call { .. } | ScriptPart::TextCall { .. })
                });
            let speaker = Item {
                asked,
                like,
                phase: if calls_follow {
                    "commentary"
                } else {
                    "final_answer"
                },
                place,
                status,
            };
            speaker.of(part)
        })
        .collect()
}

/// The HTTP response with these items: events, or one document.
pub(in crate::openai) fn respond(
    asked: &Post<'_>,
    reply: &ScriptReply,
    items: &[Value],
) -> Response {
    let done = document(asked, reply, items);
    if asked.is_streamed(reply) {
        Response::event_stream(events::all(asked, items, &done))
    } else {
        Response::json(200, done.to_string())
    }
}

pub(in crate::openai) fn response_id(nth: usize) -> String {
    ids::id("resp_", nth, 0)
}

struct Item<'a> {
    asked: &'a Post<'a>,
    like: VendorQuirks,
    phase: &'static str,
    place: usize,
    status: &'static str,
}

impl Item<'_> {
    fn of(&self, part: &ScriptPart) -> Value {
        match part {
            ScriptPart::Call {
                arguments,
                id,
                name,
            } if name == "find_tools" && self.searches() => json!({
                "id": self.id("tsc_"),
                "type": "tool_search_call",
                "status": self.status,
                "arguments": serde_json::from_str::<Value>(arguments).unwrap_or_default(),
                "call_id": self.call_id(id.as_deref()),
                "execution": "client",
            }),
            ScriptPart::Call {
                arguments,
                id,
                name,
            } => json!({
                "id": self.id("fc_"),
                "type": "function_call",
                "status": self.status,
                "arguments": arguments,
                "call_id": self.call_id(id.as_deref()),
                "name": name,
            }),
            ScriptPart::Refusal(text) => {
                self.message(&json!({ "type": "refusal", "refusal": text }))
            }
            ScriptPart::Text(text) => self.message(&json!({
                "type": "output_text",
                "annotations": [],
                "logprobs": [],
                "text": text,
            })),
            ScriptPart::TextCall { id, input, name } => json!({
                "id": self.id("ctc_"),
                "type": "custom_tool_call",
                "status": self.status,
                "call_id": self.call_id(id.as_deref()),
                "input": input,
                "name": name,
            }),
            ScriptPart::Thinking { signature, text } => {
                // A summary is sent only on request.
                let reasoning = self.asked.body.get("reasoning");
                let is_shown = reasoning.is_some_and(|asked| has(asked, "summary"));
                let summary = if is_shown && !text.is_empty() {
                    json!([{ "type": "summary_text", "text": text }])
                } else {
                    json!([])
                };
                json!({
                    "id": self.id("rs_"),
                    "type": "reasoning",
                    "summary": summary,
                    "encrypted_content": signature,
                })
            }
        }
    }

    /// Whether the request has a search for tools that the client runs.
    fn searches(&self) -> bool {
        let tools = list(self.asked.body.get("tools")).iter();
        let mut kinds = tools.map(|tool| (text(tool, "type"), text(tool, "execution")));
        kinds.any(|kind| kind == ("tool_search", "client"))
    }

    fn message(&self, part: &Value) -> Value {
        let mut message = json!({
            "id": self.id("msg_"),
            "type": "message",
            "status": self.status,
            "content": [part],
            "role": "assistant",
        });
        if settings::reasons(self.asked.model()) {
            message["phase"] = json!(self.phase);
        }
        message
    }

    fn id(&self, prefix: &str) -> String {
        ids::id(prefix, self.asked.nth, self.place)
    }

    fn call_id(&self, given: Option<&str>) -> String {
        ids::call(given, self.like, self.asked.nth, self.place)
    }
}

fn document(asked: &Post<'_>, reply: &ScriptReply, items: &[Value]) -> Value {
    let ending = ending(&reply.finish());
    let echoed = |name: &str, usual: Value| match asked.body.get(name) {
        Some(value) if !value.is_null() => value.clone(),
        _ => usual,
    };
    let completed = ending.is_none();
    json!({
        "id": response_id(asked.nth),
        "object": "response",
        "created_at": CREATED,
        "status": if completed { "completed" } else { "incomplete" },
        "background": false,
        "completed_at": completed.then_some(CREATED + 1),
        "error": null,
        "incomplete_details": ending.map(|reason| json!({ "reason": reason })),
        "instructions": echoed("instructions", Value::Null),
        "max_output_tokens": echoed("max_output_tokens", Value::Null),
        "max_tool_calls": null,
        "model": asked.model(),
        "output": items,
        "parallel_tool_calls": echoed("parallel_tool_calls", json!(true)),
        "previous_response_id": echoed("previous_response_id", Value::Null),
        "prompt_cache_key": echoed("prompt_cache_key", Value::Null),
        "reasoning": echoed("reasoning", json!({ "effort": null, "summary": null })),
        "safety_identifier": echoed("safety_identifier", Value::Null),
        "service_tier": "default",
        "store": echoed("store", json!(true)),
        "temperature": echoed("temperature", json!(1.0)),
        "text": echoed("text", json!({ "format": { "type": "text" } })),
        "tool_choice": echoed("tool_choice", json!("auto")),
        "tools": echoed("tools", json!([])),
        "top_logprobs": 0,
        "top_p": echoed("top_p", json!(1.0)),
        "truncation": echoed("truncation", json!("disabled")),
        "usage": usage(&reply.usage),
        "user": null,
        "metadata": echoed("metadata", json!({})),
    })
}

/// Why a response is incomplete, if it is.
fn ending(finish: &FinishReason) -> Option<String> {
    let word = match finish {
        FinishReason::ContentFilter => "content_filter",
        FinishReason::ContextFull | FinishReason::Length => "max_output_tokens",
        FinishReason::Paused => "max_messages",
        FinishReason::Refused
        | FinishReason::Stop
        | FinishReason::StopSequence(_)
        | FinishReason::ToolCalls => return None,
        FinishReason::Unrecognized(word) => word,
    };
    Some(word.to_owned())
}

fn usage(usage: &Usage) -> Value {
    json!({
        "input_tokens": usage.input,
        "input_tokens_details": {
            "cached_tokens": usage.cache_read,
            "cache_write_tokens": usage.cache_write,
        },
        "output_tokens": usage.output,
        "output_tokens_details": { "reasoning_tokens": usage.reasoning },
        "total_tokens": usage.total(),
    })
}
