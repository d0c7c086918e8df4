//! How Responses puts things on the wire, written by hand from the vendor's documentation and the
//! official SDK's types (openai-python 3.54.0); what only other servers do, from what their users report
//! (2026-11).

mod echo;
mod item;

use bytes::Bytes;
use jackfield_domain::reply::FinishReason;
use jackfield_ports::chat_model::Capabilities;
use jackfield_provider_openai::client::OpenAi;
use jackfield_provider_openai::config::Api;
use jackfield_testkit::contract::chat_model::{
    ChatModelHarness, Echo, Manner, Recording, RequestPart, ScriptedBlock, ScriptedFailure,
    ScriptedFailureKind, VendorReply, WireReply,
};
use jackfield_testkit::server::RecordedRequest;
use serde_json::{Value, json};

use self::item::{Item, item};
use crate::harness::{self, MODEL, failed, index, set};
use crate::recordings;

pub(crate) struct ResponsesHarness;

const IMPOSSIBLE: &[(Manner, &str)] = &[
    (
        Manner::ArgumentsAsObject,
        "arguments are a text wherever they stand",
    ),
    (
        Manner::ArgumentsCumulative,
        "no server of it is known to repeat them",
    ),
    (Manner::CallsInOnePiece, "each item has events of its own"),
    (
        Manner::EndMarkerMissing,
        "the event that says why the reply ended is the marker",
    ),
    (
        Manner::FinishSaysStop,
        "there is no reason of its own for calls",
    ),
    (
        Manner::LaterIdAndNameEmpty,
        "the pieces have no place for a name, and go by the id of the item",
    ),
    (
        Manner::NameLate,
        "no server of it is known to name a call after its item was added",
    ),
    (Manner::NameRepeated, "the pieces have no place for a name"),
    (Manner::RoleRepeated, "the pieces have no place for a role"),
    (Manner::UsageApart, "the usage is part of the last event"),
    (
        Manner::UsageInEachPiece,
        "the usage is part of the last event",
    ),
];

impl ChatModelHarness for ResponsesHarness {
    type Model = OpenAi;

    fn connect(&self, base_url: &str, key: &str) -> OpenAi {
        harness::model(base_url, Api::Responses, key)
    }

    fn capabilities(&self) -> Capabilities {
        let mut can = Capabilities::NONE;
        can.documents = true;
        can.forced_tools = true;
        can.images = true;
        can.parallel_calls = true;
        can.reasoning = true;
        can.streaming = true;
        can.structured_output = true;
        can.tools = true;
        can
    }

    fn model(&self) -> &str {
        MODEL
    }

    fn provider(&self) -> &str {
        "openai"
    }

    fn impossible(&self) -> &[(Manner, &str)] {
        IMPOSSIBLE
    }

    fn usual(&self) -> &[Manner] {
        &[Manner::ArgumentsEmpty]
    }

    fn never_takes(&self) -> &[(RequestPart, &str)] {
        &[(RequestPart::OutcomeTool, "an output goes by its call's id")]
    }

    fn recordings(&self) -> Vec<Recording> {
        recordings::responses()
    }

    fn render(&self, reply: &VendorReply) -> Option<WireReply> {
        let impossible = |(manner, _): &(Manner, &str)| *manner == reply.manner;
        if IMPOSSIBLE.iter().any(impossible) {
            return None;
        }
        let incomplete = match &reply.finish {
            FinishReason::ContentFilter => Some("content_filter"),
            FinishReason::Length => Some("max_output_tokens"),
            FinishReason::Stop | FinishReason::ToolCalls => None,
            FinishReason::Unrecognized(reason) => Some(&**reason),
            FinishReason::ContextFull
            | FinishReason::Paused
            | FinishReason::Refused
            | FinishReason::StopSequence(_) => return None,
        };
        let items: Vec<Item<'_>> = reply
            .blocks
            .iter()
            .map(|block| item(reply, block))
            .collect();
        let done: Vec<Value> = (0..)
            .zip(&items)
            .map(|(place, item)| item.done(reply.manner, place))
            .collect();
        let response = ended(reply, incomplete, done);
        let wire = if reply.manner == Manner::NotStreamed {
            WireReply::json(200, response.to_string())
        } else {
            streamed(reply, &items, response)
        };
        Some(wire.header("x-request-id", "req_1"))
    }

    fn echo(&self, request: &RecordedRequest) -> Echo {
        echo::read(&request.json())
    }

    fn render_failure(&self, failure: &ScriptedFailure) -> WireReply {
        failed(failure)
    }

    fn render_models(&self, ids: &[&str]) -> Option<Vec<WireReply>> {
        Some(vec![harness::models(ids)])
    }

    fn render_failure_event(&self, failure: &ScriptedFailure) -> Option<Bytes> {
        let code = match failure.kind {
            ScriptedFailureKind::Forbidden => "unsupported_country_region_territory",
            ScriptedFailureKind::InvalidRequest => "invalid_prompt",
            ScriptedFailureKind::ModelNotFound => "model_not_found",
            ScriptedFailureKind::Overloaded => "server_is_overloaded",
            ScriptedFailureKind::ServerError => "server_error",
            ScriptedFailureKind::RateLimited(_) => "rate_limit_exceeded",
            ScriptedFailureKind::Unauthenticated => "invalid_api_key",
        };
        Some(event(&json!({
            "type": "error", "sequence_number": 99, "code": code, "message": failure.message,
            "param": null,
        })))
    }

    fn unknown_events(&self) -> Vec<Bytes> {
        vec![
            ": keep-alive\n\n".into(),
            event(&json!({ "type": "keepalive", "sequence_number": 98 })),
            event(&json!({
                "type": "response.mood.changed", "sequence_number": 98, "output_index": "none",
                "mood": ["fine"],
            })),
        ]
    }

    fn broken_event(&self) -> Option<Bytes> {
        let broken = "event: response.output_text.delta\n\
            data: {\"type\":\"response.output_text.delta\",\"del\n\n";
        Some(broken.into())
    }
}

/// An event as it stands on the wire.
pub(crate) fn event(data: &Value) -> Bytes {
    let name = data["type"].as_str().unwrap();
    format!("event: {name}\ndata: {data}\n\n").into()
}

/// The response as the last event has it.
fn ended(reply: &VendorReply, incomplete: Option<&str>, output: Vec<Value>) -> Value {
    let usage = &reply.usage;
    let mut response = begun(if incomplete.is_some() {
        "incomplete"
    } else {
        "completed"
    });
    response["incomplete_details"] = json!(incomplete.map(|reason| json!({ "reason": reason })));
    response["output"] = json!(output);
    if reply.manner != Manner::UsageMissing {
        response["usage"] = json!({
            "input_tokens": usage.input,
            "input_tokens_details": {
                "cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write,
            },
            "output_tokens": usage.output,
            "output_tokens_details": { "reasoning_tokens": usage.reasoning },
            "total_tokens": usage.input + usage.output,
        });
    }
    response
}

fn begun(status: &str) -> Value {
    json!({
        "id": "resp_1", "object": "response", "created_at": 1_795_000_000, "status": status,
        "error": null, "incomplete_details": null, "instructions": null, "model": MODEL,
        "output": [], "parallel_tool_calls": true, "store": false, "tools": [], "usage": null,
    })
}

fn streamed(reply: &VendorReply, items: &[Item<'_>], response: Value) -> WireReply {
    let manner = reply.manner;
    let mut events = vec![
        json!({ "type": "response.created", "response": begun("in_progress") }),
        json!({ "type": "response.in_progress", "response": begun("in_progress") }),
    ];
    // The events of each item, from the one that adds it to the one that ends it.
    let mut told: Vec<Vec<Value>> = Vec::new();
    for (place, item) in items.iter().enumerate() {
        let (added, done) = (item.added(manner, place), item.done(manner, place));
        let mut own = item.events(manner);
        for event in &mut own {
            event["item_id"] = added["id"].clone();
        }
        own.insert(
            0,
            json!({ "type": "response.output_item.added", "item": added }),
        );
        own.push(json!({ "type": "response.output_item.done", "item": done }));
        for event in &mut own {
            set(event, "output_index", index(manner, place));
        }
        told.push(own);
    }
    if manner == Manner::ArgumentsInterleaved {
        // Only calls take turns; what stands before them is told first.
        let is_call = |item: &Item<'_>| match item.block {
            ScriptedBlock::CustomCall { .. } | ScriptedBlock::ToolCall { .. } => true,
            ScriptedBlock::Reasoning { .. }
            | ScriptedBlock::Refusal(_)
            | ScriptedBlock::Text { .. } => false,
        };
        let before = items.iter().take_while(|item| !is_call(item)).count();
        events.extend(told.drain(..before).flatten());
        while told.iter().any(|own| !own.is_empty()) {
            for own in told.iter_mut().filter(|own| !own.is_empty()) {
                events.push(own.remove(0));
            }
        }
    } else {
        events.extend(told.into_iter().flatten());
    }
    let kind = format!("response.{}", response["status"].as_str().unwrap());
    events.push(json!({ "type": kind, "response": response }));
    for (number, event) in (0..).zip(&mut events) {
        event["sequence_number"] = json!(number);
    }
    WireReply::events(events.iter().map(event))
}
