//! Tool calls and their outcomes.

use std::sync::Arc;

use jackfield_domain::block::{CalledName, RanBy, ToolCall, UpstreamId};
use jackfield_domain::ids::ToolCallId;
use jackfield_domain::outcome::{OutcomePart, ToolOutcome, ToolResult};
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value;

use super::media::{audio, document, image};
use super::opaque::{opaque_states, state_owner};
use super::text::{id, json, json_object, text};

/// The raw text of JSON arguments: valid, malformed or empty.
pub fn arguments() -> impl Strategy<Value = String> + Clone {
    let spaced = json_object().prop_map(|fields| format!(" {:#} ", Value::Object(fields)));
    prop_oneof![
        3 => json_object().prop_map(|fields| Value::Object(fields).to_string()),
        1 => spaced,
        1 => select(&["", "  ", "{}", "{", "{\"a\": 1", "{\"a\": 1}}", "[1]", "null", "\"text\"", "{'a': 1}", "{\"a\": 1, \"a\": 2}", "天气"][..]).prop_map(str::to_owned),
    ]
    .boxed()
}

/// Arguments of any kind.
pub fn tool_input() -> impl Strategy<Value = ToolInput> + Clone {
    prop_oneof![
        4 => arguments().prop_map(|raw| ToolInput::Json(JsonInput::parse(&raw))),
        1 => json_object().prop_map(|fields| ToolInput::Json(JsonInput::from(fields))),
        1 => text().prop_map(ToolInput::Text),
    ]
    .boxed()
}

/// A tool's name as a model may write it: mostly valid.
pub fn called_name() -> impl Strategy<Value = CalledName> + Clone {
    prop_oneof![
        5 => select(&["search", "files__read", "clock"][..]).prop_map(CalledName::new),
        1 => text().prop_map(|name| CalledName::new(&name)),
    ]
    .boxed()
}

fn upstream_id() -> impl Strategy<Value = Option<UpstreamId>> + Clone {
    // Some ids repeat, and some are empty.
    let known = select(&["", "call_1", "call_1", "toolu_01", "вызов 1"][..]);
    option::of((known, state_owner()).prop_map(|(id, owner)| UpstreamId {
        id: id.into(),
        owner,
    }))
    .boxed()
}

/// A server tool call or client tool call.
pub fn tool_call() -> impl Strategy<Value = ToolCall> + Clone {
    call(prop_oneof![4 => Just(RanBy::Engine), 1 => Just(RanBy::Client)])
}

/// A call that the provider ran itself.
pub fn provider_call() -> impl Strategy<Value = ToolCall> + Clone {
    call(Just(RanBy::Provider))
}

fn call(
    ran_by: impl Strategy<Value = RanBy> + Clone + 'static,
) -> impl Strategy<Value = ToolCall> + Clone {
    (
        call_id(),
        tool_input(),
        called_name(),
        ran_by,
        upstream_id(),
    )
        .prop_map(|(id, input, name, ran_by, upstream)| ToolCall {
            id,
            input,
            name,
            ran_by,
            upstream,
        })
        .boxed()
}

/// An id of a call.
pub(super) fn call_id() -> impl Strategy<Value = ToolCallId> + Clone {
    id(ToolCallId::MAX).prop_map(|text| match ToolCallId::parse(&text) {
        Ok(id) => id,
        Err(invalid) => unreachable!("{invalid}"),
    })
}

/// One part of an outcome.
pub fn outcome_part() -> impl Strategy<Value = OutcomePart> + Clone {
    prop_oneof![
        5 => text().prop_map(OutcomePart::Text),
        1 => image().prop_map(OutcomePart::Image),
        1 => document().prop_map(OutcomePart::Document),
        1 => audio().prop_map(OutcomePart::Audio),
    ]
    .boxed()
}

/// A tool's result: empty, with several parts, or an error.
pub fn tool_result() -> impl Strategy<Value = ToolResult> + Clone {
    let structured =
        prop_oneof![3 => Just(None), 1 => json().prop_map(|json| Some(Arc::new(json)))];
    (vec(outcome_part(), 0..3), any::<bool>(), structured)
        .prop_map(|(content, is_error, structured)| ToolResult {
            content,
            is_error,
            structured,
        })
        .boxed()
}

/// The outcome of any call.
pub fn tool_outcome() -> impl Strategy<Value = ToolOutcome> + Clone {
    (call_id(), tool_result(), opaque_states())
        .prop_map(|(call, result, opaque)| ToolOutcome {
            call,
            result,
            opaque,
        })
        .boxed()
}

/// The outcome of this call.
pub fn outcome_of(call: ToolCallId) -> impl Strategy<Value = ToolOutcome> + Clone {
    (tool_result(), opaque_states()).prop_map(move |(result, opaque)| ToolOutcome {
        call: call.clone(),
        result,
        opaque,
    })
}
