//! The laws of replies: told in pieces or whole, they are the same.

use std::sync::Arc;

use jackfield_dialect_claude::options::Profile;
use jackfield_dialect_claude::stream::{DecodeError, DecodeReply as _, Decoder, Encoder, SseEvent};
use jackfield_dialect_claude::{reply, wire};
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::ids::{ModelAttempt, TurnId};
use jackfield_domain::reply::{FinishReason, Reply, ReplyEnd};
use jackfield_domain::request::ModelRequest;
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use jackfield_testkit::laws::replies::{Decoded, Event, ReadFailure, ReplyMappers};
use jackfield_testkit::replies::{self, states_first, with_our_ids, without_state};
use jackfield_testkit::{arb as kit, outline};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::arb::{self, attempt, owner};

struct Claude;

impl ReplyMappers for Claude {
    fn attempt() -> (TurnId, ModelAttempt) {
        attempt()
    }

    fn pieces() -> BoxedStrategy<(Reply, Vec<Delta>)> {
        told()
    }

    fn encode(deltas: &[Delta], end: &ReplyEnd) -> Vec<Event> {
        let events = encoded(deltas, end).into_iter();
        events.map(|event| (event.event, event.data)).collect()
    }

    fn decode(events: &[Event]) -> Decoded {
        let mut decoder = Decoder::new(owner());
        let mut deltas = Vec::new();
        for (name, data) in events {
            match decoder.push(*name, data) {
                Ok(more) => deltas.extend(more),
                Err(error) => {
                    let end = Err(ReadFailure::Other(error.to_string()));
                    return Decoded { deltas, end };
                }
            }
        }
        let end = decoder.finish().map_err(|error| match error {
            DecodeError::Truncated { phase } => ReadFailure::Truncated(phase),
            error => ReadFailure::Other(error.to_string()),
        });
        Decoded { deltas, end }
    }

    fn unknown_events() -> Vec<Event> {
        let events = UNKNOWN.iter();
        events
            .map(|(name, data)| (Some(*name), (*data).to_owned()))
            .collect()
    }

    fn with_unknown_fields((name, data): Event) -> Event {
        (name, with_unknown_fields(&data))
    }

    /// A piece of an unknown kind still belongs to a reply.
    fn known_beginning() -> usize {
        1
    }

    fn through_whole(reply: &Reply) -> Result<(Vec<Delta>, ReplyEnd), String> {
        let (message, _) = reply::to_wire(reply, "model-a", "msg_1");
        let bytes = serde_json::to_vec(&message).expect("wire forms can be written");
        let message: wire::Message = serde_json::from_slice(&bytes).expect("a message");
        Decoder::new(owner())
            .decode_message(&message)
            .map_err(|error| error.to_string())
    }
}

jackfield_testkit::reply_laws!(Claude);

proptest! {
    #[test]
    fn a_reply_without_notes_comes_back_equal(reply in arb::reply()) {
        let (message, notes) = reply::to_wire(&reply, "model-a", "msg_1");
        let (deltas, end) = Decoder::new(owner()).decode_message(&message).map_err(failed)?;
        let back = accumulated(&deltas, end);
        prop_assert_eq!(&back.end.usage.unwrap_or_default(), &reply.end.usage.unwrap_or_default());
        if reply.end.finish != FinishReason::ContentFilter {
            prop_assert_eq!(&back.end.finish, &reply.end.finish);
        }
        if notes.is_empty() {
            let differences = outline::differences(
                &outline::of_blocks(&without_state(&reply.message, &owner()).blocks),
                &outline::of_blocks(&without_state(&back.message, &owner()).blocks),
            );
            prop_assert!(differences.is_empty(), "{differences:?}");
        }
    }

    #[test]
    fn blocks_come_strictly_one_after_another((reply, deltas) in told()) {
        let mut open: Option<u64> = None;
        let mut next = 0;
        let events = encoded(&deltas, &reply.end);
        prop_assert_eq!(events[0].event, Some("message_start"));
        for event in &events {
            let data: Value = serde_json::from_str(&event.data).expect("JSON");
            prop_assert_eq!(data["type"].as_str(), event.event);
            let index = data["index"].as_u64();
            match event.event.unwrap_or_default() {
                "content_block_start" => {
                    prop_assert_eq!((open, index), (None, Some(next)));
                    open = index;
                    next += 1;
                }
                "content_block_delta" => prop_assert_eq!(open, index),
                "content_block_stop" => {
                    prop_assert_eq!(open, index);
                    open = None;
                }
                _ => prop_assert!(open.is_none()),
            }
        }
    }
}

/// Events that no reader need know; the last one is a piece of a kind that no block has.
const UNKNOWN: &[(&str, &str)] = &[
    ("ping", "{\"type\":\"ping\"}"),
    ("ping", ""),
    ("heartbeat", "not even JSON"),
    (
        "content_block_checkpoint",
        "{\"type\":\"content_block_checkpoint\",\"index\":\"all\",\"delta\":7}",
    ),
    (
        "thread_created",
        "{\"type\":\"thread_created\",\"message\":[],\"usage\":{\"input_tokens\":\"many\"}}",
    ),
];

fn with_unknown_fields(data: &str) -> String {
    let mut data: Value = serde_json::from_str(data).expect("JSON");
    data["added_later"] = json!({ "type": "error", "nested": [null] });
    for inner in ["delta", "message", "usage"] {
        if data[inner].is_object() {
            data[inner]["added_later"] = json!([1, "two"]);
        }
    }
    data.to_string()
}

fn failed(error: DecodeError) -> TestCaseError {
    TestCaseError::fail(error.to_string())
}

/// A reply, and pieces of it in any order in which they may come.
fn told() -> BoxedStrategy<(Reply, Vec<Delta>)> {
    let both = arb::reply().prop_flat_map(|reply| {
        let message = with_our_ids(&reply.message, &owner());
        let deltas = kit::deltas_of(&message.blocks).prop_map(states_first);
        (Just(reply), deltas)
    });
    both.boxed()
}

pub(crate) fn encoded(deltas: &[Delta], end: &ReplyEnd) -> Vec<SseEvent> {
    let mut encoder = Encoder::new("msg_1", "model-a");
    let mut events: Vec<SseEvent> = deltas
        .iter()
        .flat_map(|delta| encoder.push(delta))
        .collect();
    events.extend(encoder.finish(end));
    events
}

pub(crate) fn accumulated(deltas: &[Delta], end: ReplyEnd) -> Reply {
    replies::accumulated(attempt(), deltas, end)
}

#[test]
fn text_arguments_are_told_as_json_and_read_back_as_text() {
    let start = BlockStart::ToolCall {
        json: false,
        name: "shell".into(),
        ran_by: jackfield_domain::block::RanBy::Engine,
        upstream: None,
    };
    let deltas = [
        Delta::BlockStarted { index: 0, start },
        Delta::ArgumentsAppended {
            index: 0,
            text: "echo \"a\n".into(),
        },
        Delta::ArgumentsAppended {
            index: 0,
            text: "\\b\"".into(),
        },
        Delta::BlockEnded { index: 0 },
    ];
    let events = encoded(&deltas, &ReplyEnd::new(FinishReason::ToolCalls));
    let request = with_a_text_tool();
    let mut decoder = decoder(&request);
    let mut read = Vec::new();
    for event in &events {
        read.extend(
            decoder
                .push(event.event, &event.data)
                .expect("sound events"),
        );
    }
    let end = decoder.finish().expect("a whole reply");
    let reply = accumulated(&read, end);
    let call = reply.message.calls().next().expect("a call");
    let text = ToolInput::Text("echo \"a\n\\b\"".into());
    assert_eq!(call.input, text);
}

#[test]
fn text_arguments_of_a_whole_reply_are_read_as_those_of_a_stream() {
    for (input, expected) in [
        (json!({ "input": "ls" }), ToolInput::Text("ls".into())),
        (json!({}), ToolInput::Text("".into())),
        (
            "{\"input\":\"l".into(),
            ToolInput::Json(JsonInput::parse("{\"input\":\"l")),
        ),
    ] {
        let message = json!({
            "content": [{ "type": "tool_use", "id": "toolu_1", "name": "shell", "input": input }],
            "stop_reason": "tool_use",
        });
        let message = serde_json::from_value(message).expect("a message");
        let decoder = decoder(&with_a_text_tool());
        let (deltas, end) = decoder.decode_message(&message).expect("a whole reply");
        let reply = accumulated(&deltas, end);
        let call = reply.message.calls().next().expect("a call");
        assert_eq!(call.input, expected);
    }
}

/// A request that offers a tool that takes text.
fn with_a_text_tool() -> ModelRequest {
    let mut request = crate::examples::request();
    request.tools = Arc::new(vec![Arc::new(jackfield_domain::tool::ToolDefinition {
        description: "".into(),
        extensions: Vec::new(),
        input: jackfield_domain::tool::InputFormat::Text(None),
        name: jackfield_domain::ids::ToolName::parse("shell").expect("a name"),
        output: None,
        strict: None,
    })]);
    request
}

fn decoder(request: &ModelRequest) -> Decoder {
    let made =
        jackfield_dialect_claude::request::to_wire(request, &owner(), &Profile::NEWEST, true);
    let (body, _) = made.expect("a body");
    Decoder::for_request(owner(), request, &body)
}
