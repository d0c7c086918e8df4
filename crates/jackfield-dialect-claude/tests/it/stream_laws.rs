//! Streams as servers really send them, sound and unsound.

use jackfield_dialect_claude::stream::{DecodeError, DecodeReply as _, Decoder};
use jackfield_domain::delta::Delta;
use jackfield_domain::failure::{ModelFailureKind, Phase};
use jackfield_domain::reply::{FinishReason, Reply, ReplyEnd};
use jackfield_testkit::arb as kit;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::arb::owner;
use crate::reply_laws::accumulated;

proptest! {
    #[test]
    fn nothing_makes_the_decoder_panic(
        events in prop::collection::vec((0..KINDS.len(), any_event()), 0..8),
        noise in ".{0,40}",
    ) {
        let mut decoder = Decoder::new(owner());
        drop(decoder.push(None, "{\"type\":\"message_start\"}"));
        for (kind, mut event) in events {
            if let Some(fields) = event.as_object_mut() {
                fields.insert("type".to_owned(), json!(KINDS[kind]));
            }
            if decoder.push(Some(KINDS[kind]), &event.to_string()).is_err() {
                decoder = Decoder::new(owner());
            }
        }
        drop(decoder.push(None, &noise));
        drop(decoder.finish());
    }

    #[test]
    fn deltas_of_any_sound_prefix_keep_the_rules_of_deltas(
        events in prop::collection::vec((0..KINDS.len(), any_event()), 0..12),
    ) {
        let (turn, attempt) = crate::arb::attempt();
        let mut accumulator = jackfield_domain::accumulator::ReplyAccumulator::new(turn, attempt);
        let mut decoder = Decoder::new(owner());
        drop(decoder.push(None, "{\"type\":\"message_start\"}"));
        for (kind, event) in events {
            let Ok(deltas) = decoder.push(Some(KINDS[kind]), &event.to_string()) else { break };
            for delta in deltas {
                prop_assert_eq!(accumulator.push(&delta), Ok(()));
            }
        }
    }
}

const KINDS: &[&str] = &[
    "content_block_delta",
    "content_block_start",
    "content_block_stop",
    "message_delta",
    "message_start",
    "message_stop",
    "error",
    "ping",
];

/// Objects that look like events: known fields with known and with absurd values.
fn any_event() -> BoxedStrategy<Value> {
    let piece = prop::sample::select(vec![
        "text_delta",
        "input_json_delta",
        "thinking_delta",
        "signature_delta",
        "citations_delta",
        "compaction_delta",
    ]);
    let block = prop::sample::select(vec![
        "text",
        "thinking",
        "redacted_thinking",
        "tool_use",
        "server_tool_use",
        "web_search_tool_result",
        "compaction",
    ]);
    let event = (0..3_u32, piece, block, kit::json(), kit::json(), any::<bool>()).prop_map(
        |(index, piece, block, one, two, absurd)| {
            let text = if absurd { one.clone() } else { json!("some") };
            json!({
                "index": if absurd { two.clone() } else { json!(index) },
                "delta": { "type": piece, "text": text, "partial_json": "{}", "thinking": "hm", "signature": "s", "citation": one },
                "content_block": { "type": block, "id": "a", "name": "b", "data": "c", "input": two, "text": text },
            })
        },
    );
    prop_oneof![4 => event, 1 => kit::json()].boxed()
}

fn read(events: &[Value]) -> Result<(Vec<Delta>, ReplyEnd), DecodeError> {
    let mut decoder = Decoder::new(owner());
    let mut deltas = Vec::new();
    for event in events {
        deltas.extend(decoder.push(None, &event.to_string())?);
    }
    Ok((deltas, decoder.finish()?))
}

fn reply(events: &[Value]) -> Reply {
    let (deltas, end) = read(events).expect("a sound stream");
    accumulated(&deltas, end)
}

/// A stream of these blocks, each its start and its pieces.
fn stream(blocks: &[(Value, Vec<Value>)]) -> Vec<Value> {
    let mut events = vec![
        json!({ "type": "message_start", "message": { "id": "msg_1", "model": "m", "content": [], "usage": { "input_tokens": 3, "output_tokens": 1 } } }),
    ];
    for (index, (start, pieces)) in blocks.iter().enumerate() {
        events
            .push(json!({ "type": "content_block_start", "index": index, "content_block": start }));
        for piece in pieces {
            events.push(json!({ "type": "content_block_delta", "index": index, "delta": piece }));
        }
        events.push(json!({ "type": "content_block_stop", "index": index }));
    }
    events.push(json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn", "stop_sequence": null }, "usage": { "output_tokens": 9 } }));
    events.push(json!({ "type": "message_stop" }));
    events
}

fn call(start: Value, pieces: &[&str]) -> String {
    let pieces = pieces
        .iter()
        .map(|text| json!({ "type": "input_json_delta", "partial_json": text }));
    let reply = reply(&stream(&[(start, pieces.collect())]));
    let call = reply.message.calls().next().expect("a call");
    match &call.input {
        jackfield_domain::tool_input::ToolInput::Json(input) => input.raw().to_owned(),
        jackfield_domain::tool_input::ToolInput::Text(text) => format!("text: {text}"),
    }
}

#[test]
fn arguments_come_in_pieces_or_with_the_start_or_not_at_all() {
    let start =
        |input: Value| json!({ "type": "tool_use", "id": "t", "name": "n", "input": input });
    let bare = json!({ "type": "tool_use", "id": "t", "name": "n" });
    assert_eq!(call(start(json!({})), &["", "{\"a\":", "1}"]), "{\"a\":1}");
    assert_eq!(call(start(json!({})), &[]), "");
    assert_eq!(call(start(json!({ "a": 1 })), &[]), "{\"a\":1}");
    assert_eq!(call(start(json!({ "a": 1 })), &["{\"a\":2}"]), "{\"a\":2}");
    assert_eq!(call(bare.clone(), &["{}"]), "{}");
    assert_eq!(call(bare, &[]), "");
    assert_eq!(
        call(start(json!({})), &["{\"a\": tru"]),
        "{\"a\": tru",
        "cut off, and kept as it is"
    );
}

#[test]
fn a_signature_replaces_the_one_before() {
    let pieces = vec![
        json!({ "type": "thinking_delta", "thinking": "hm" }),
        json!({ "type": "signature_delta", "signature": "one" }),
        json!({ "type": "signature_delta", "signature": "two" }),
    ];
    let reply = reply(&stream(&[(
        json!({ "type": "thinking", "thinking": "", "signature": "" }),
        pieces,
    )]));
    let states = &reply.message.blocks[0].opaque;
    assert_eq!(states.len(), 1);
    assert_eq!(states[0].json, json!("two"));
    assert_eq!(states[0].owner, owner());
}

#[test]
fn usage_is_cumulative_and_null_leaves_it() {
    let mut events = stream(&[]);
    events[0]["message"]["usage"] = json!({ "input_tokens": 10, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 2, "output_tokens": 1 });
    events.insert(1, json!({ "type": "message_delta", "delta": { "stop_reason": null }, "usage": { "output_tokens": 4, "input_tokens": null } }));
    let (_, end) = read(&events).expect("a sound stream");
    let usage = end.usage.expect("usage");
    assert_eq!(
        (
            usage.input,
            usage.cache_read,
            usage.cache_write,
            usage.output
        ),
        (17, 5, 2, 9)
    );
}

#[test]
fn a_later_report_of_usage_adds_to_what_it_does_not_say() {
    for (start, later, expected) in [
        // The cache is read beside the input.
        (
            json!({ "input_tokens": 1000 }),
            json!({ "cache_read_input_tokens": 800 }),
            (1800, 800),
        ),
        // The input comes again, without the cache, or as nothing.
        (
            json!({ "input_tokens": 5, "cache_read_input_tokens": 1000 }),
            json!({ "input_tokens": 5 }),
            (1005, 1000),
        ),
        (
            json!({ "input_tokens": 5, "cache_read_input_tokens": 1000 }),
            json!({ "input_tokens": 0, "cache_read_input_tokens": 0 }),
            (1005, 1000),
        ),
    ] {
        let mut events = stream(&[]);
        events[0]["message"]["usage"] = start;
        let event = json!({ "type": "message_delta", "delta": {}, "usage": later });
        events.insert(1, event);
        let (_, end) = read(&events).expect("a sound stream");
        let usage = end.usage.expect("usage");
        assert_eq!((usage.input, usage.cache_read), expected, "{later}");
        assert_eq!(end.notes, [], "{later}");
    }
}

#[test]
fn unknown_blocks_are_put_together_and_carried_whole() {
    let start = json!({ "type": "compaction", "content": null });
    let pieces = vec![
        json!({ "type": "compaction_delta", "content": "short", "encrypted_content": "ZQ==" }),
    ];
    let reply = reply(&stream(&[(start, pieces)]));
    let jackfield_domain::block::Content::Opaque(block) = &reply.message.blocks[0].content else {
        panic!("an opaque block");
    };
    assert_eq!(
        block.json,
        json!({ "type": "compaction", "content": "short", "encrypted_content": "ZQ==" })
    );
}

#[test]
fn a_refusal_keeps_its_explanation_as_state() {
    let mut events = stream(&[]);
    let last = events.len() - 2;
    events[last]["delta"] = json!({ "stop_reason": "refusal", "stop_details": { "type": "refusal", "category": "cyber" } });
    let (_, end) = read(&events).expect("a sound stream");
    assert_eq!(end.finish, FinishReason::Refused);
    assert_eq!(
        end.opaque[0].json,
        json!({ "type": "refusal", "category": "cyber" })
    );
}

#[test]
fn an_error_event_is_a_failure_of_its_phase() {
    let error = json!({ "type": "error", "error": { "type": "overloaded_error", "message": "busy" }, "request_id": null });
    let mut events = stream(&[(
        json!({ "type": "text", "text": "" }),
        vec![json!({ "type": "text_delta", "text": "so" })],
    )]);
    for (place, phase) in [
        (0, Phase::BeforeFirstDelta),
        (1, Phase::BeforeFirstDelta),
        (3, Phase::MidReply),
    ] {
        let mut broken = events.clone();
        broken.insert(place, error.clone());
        match read(&broken) {
            Err(DecodeError::Failed(failure)) => {
                assert_eq!(
                    (failure.kind, failure.phase),
                    (ModelFailureKind::Overloaded, phase)
                );
            }
            other => panic!("{other:?}"),
        }
    }
    events.push(error);
    assert!(read(&events).is_ok(), "nothing counts after the end");
}

/// Streams that break a rule are violations, and say which.
#[test]
fn broken_streams_are_violations() {
    let text = || {
        (
            json!({ "type": "text", "text": "" }),
            vec![json!({ "type": "text_delta", "text": "so" })],
        )
    };
    let with = |place: usize, event: Value| {
        let mut events = stream(&[text()]);
        events.insert(place, event);
        events
    };
    let without = |place: usize| {
        let mut events = stream(&[text()]);
        events.remove(place);
        events
    };
    let cases: Vec<(&str, Vec<Value>)> = vec![
        ("begun", without(0)),
        ("not open", without(1)),
        ("inside a block", without(3)),
        ("why it ended", without(4)),
        ("began twice", with(1, stream(&[])[0].clone())),
        (
            "began twice",
            with(
                2,
                json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text" } }),
            ),
        ),
        (
            "not open",
            with(4, json!({ "type": "content_block_stop", "index": 0 })),
        ),
        (
            "does not fit",
            with(
                2,
                json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "input_json_delta", "partial_json": "{}" } }),
            ),
        ),
        (
            "no type",
            with(
                4,
                json!({ "type": "content_block_start", "index": 1, "content_block": {} }),
            ),
        ),
        (
            "no name",
            with(
                4,
                json!({ "type": "content_block_start", "index": 1, "content_block": { "type": "tool_use", "id": "t" } }),
            ),
        ),
        (
            "cannot hold",
            with(
                4,
                json!({ "type": "content_block_start", "index": 1, "content_block": { "type": "tool_result", "tool_use_id": "t" } }),
            ),
        ),
        (
            "broken event",
            with(
                2,
                json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": 7 } }),
            ),
        ),
        (
            "broken event",
            with(2, json!({ "type": "content_block_stop", "index": -1 })),
        ),
        ("broken event", with(1, json!("message_start"))),
    ];
    for (reason, events) in cases {
        match read(&events) {
            Err(DecodeError::Violation { reason: told, .. }) => {
                assert!(told.contains(reason), "{told}: {reason}");
            }
            other => panic!("{reason}: {other:?}"),
        }
    }
    let mut decoder = Decoder::new(owner());
    let broken = decoder
        .push(Some("message_start"), "{\"type\":")
        .expect_err("broken JSON");
    assert_eq!(broken.failure().kind, ModelFailureKind::ProtocolViolation);
}

#[test]
fn fields_that_are_null_say_nothing() {
    let piece = json!({ "type": "text_delta", "text": "so", "partial_json": null, "thinking": null, "signature": null, "stop_reason": null });
    let mut events = stream(&[(json!({ "type": "text", "text": null }), vec![piece])]);
    let last = events.len() - 2;
    events[last]["delta"] = json!({ "type": null, "text": null, "stop_reason": "end_turn" });
    let reply = reply(&events);
    assert_eq!(reply.message.to_text(), "so");
    assert_eq!(reply.end.finish, FinishReason::Stop);
}

#[test]
fn an_error_without_a_type_around_it_is_one() {
    for name in [None, Some("message"), Some("error")] {
        let mut decoder = Decoder::new(owner());
        let told = decoder.push(
            name,
            "{\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}}",
        );
        match told {
            Err(DecodeError::Failed(failure)) => {
                assert_eq!(failure.kind, ModelFailureKind::Overloaded);
            }
            other => panic!("{name:?}: {other:?}"),
        }
    }
}

#[test]
fn a_reply_is_complete_with_its_last_event_whatever_that_is_called() {
    let events = stream(&[]);
    for name in [None, Some("message"), Some("message_stop")] {
        let mut decoder = Decoder::new(owner());
        for (n, event) in events.iter().enumerate() {
            assert!(!decoder.is_complete(), "before event {n}");
            let told = decoder.push(name, &event.to_string());
            assert_eq!(told, Ok(Vec::new()));
        }
        assert!(decoder.is_complete());
    }
}

#[test]
fn pieces_of_an_unknown_kind_say_nothing_about_a_known_block() {
    let odd = json!({ "type": "emphasis_delta", "text": { "bold": true } });
    let pieces = vec![json!({ "type": "text_delta", "text": "so" }), odd];
    let reply = reply(&stream(&[(json!({ "type": "text", "text": "" }), pieces)]));
    assert_eq!(reply.message.to_text(), "so");
}

#[test]
fn an_event_of_an_unknown_name_need_not_be_json() {
    let mut decoder = Decoder::new(owner());
    for data in ["fine, and not JSON", "", "{\"type\":", "[1]", "7"] {
        let deltas = decoder.push(Some("message_mood"), data);
        assert_eq!(deltas, Ok(Vec::new()), "{data}");
    }
    for name in [Some("message_start"), Some("error"), Some("message"), None] {
        let broken = decoder.push(name, "fine, and not JSON").map(drop);
        let failure = broken.expect_err("a violation").failure();
        assert_eq!(
            failure.kind,
            ModelFailureKind::ProtocolViolation,
            "{name:?}"
        );
    }
}
