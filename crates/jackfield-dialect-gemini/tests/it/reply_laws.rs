//! The laws of replies: told in pieces or whole, they are the same.

use jackfield_dialect_gemini::reply;
use jackfield_dialect_gemini::stream::{DecodeError, DecodeReply as _, Decoder, Encoder, SseEvent};
use jackfield_domain::delta::Delta;
use jackfield_domain::ids::{ModelAttempt, TurnId};
use jackfield_domain::reply::{Reply, ReplyEnd};
use jackfield_testkit::laws::replies::{Decoded, Event, ReadFailure, ReplyMappers};
use jackfield_testkit::replies::{self, states_first, with_our_ids, without_state};
use jackfield_testkit::{arb as kit, outline};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::arb::{self, attempt, owner};

struct Gemini;

impl ReplyMappers for Gemini {
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
        deltas.extend(decoder.rest().unwrap_or_default());
        let end = decoder.finish().map_err(|error| match error {
            DecodeError::Truncated { phase } => ReadFailure::Truncated(phase),
            error => ReadFailure::Other(error.to_string()),
        });
        Decoded { deltas, end }
    }

    fn unknown_events() -> Vec<Event> {
        let events = UNKNOWN.iter();
        events.map(|data| (None, (*data).to_owned())).collect()
    }

    fn with_unknown_fields((name, data): Event) -> Event {
        (name, with_unknown_fields(&data))
    }

    fn through_whole(reply: &Reply) -> Result<(Vec<Delta>, ReplyEnd), String> {
        let (whole, _) = reply::to_wire(reply, "model-a", "msg_1");
        let bytes = serde_json::to_vec(&whole).expect("wire forms can be written");
        let read = Decoder::new(owner()).read_whole(&bytes);
        read.map_err(|error| error.to_string())
    }
}

jackfield_testkit::reply_laws!(Gemini);

proptest! {
    #[test]
    fn a_reply_without_notes_comes_back_equal(reply in arb::reply()) {
        let (whole, notes) = reply::to_wire(&reply, "model-a", "msg_1");
        let bytes = serde_json::to_vec(&whole).expect("wire forms can be written");
        let read = Decoder::new(owner()).read_whole(&bytes);
        let (deltas, end) = read.map_err(|error| TestCaseError::fail(error.to_string()))?;
        let back = accumulated(&deltas, end);
        let usage = back.end.usage.unwrap_or_default();
        let mut expected = reply.end.usage.unwrap_or_default();
        // The wire has no writes to a cache, and no estimates.
        (expected.cache_write, expected.estimated_input, expected.estimated_output) = (0, 0, 0);
        prop_assert_eq!(usage, expected);
        if notes.is_empty() {
            let joined = |reply: &Reply| {
                let blocks = without_state(&reply.message, &owner()).blocks;
                (reply.message.to_text().replace("\n\n", ""), blocks.iter().filter(|block| !matches!(block.content, jackfield_domain::block::Content::Text(_) | jackfield_domain::block::Content::Thinking(_))).cloned().collect::<Vec<_>>())
            };
            let ((text, others), (text_back, others_back)) = (joined(&reply), joined(&back));
            prop_assert_eq!(text_back, text);
            let differences = outline::differences(&outline::of_blocks(&others), &outline::of_blocks(&others_back));
            prop_assert!(differences.is_empty(), "{differences:?}");
        }
    }

    #[test]
    fn nothing_makes_the_decoder_panic(events in prop::collection::vec(any_event(), 0..8), noise in ".{0,40}") {
        let (turn, attempt) = attempt();
        let mut accumulator = jackfield_domain::accumulator::ReplyAccumulator::new(turn, attempt);
        let mut decoder = Decoder::new(owner());
        for event in events {
            let Ok(deltas) = decoder.push(None, &event.to_string()) else { break };
            for delta in deltas {
                prop_assert_eq!(accumulator.push(&delta), Ok(()));
            }
        }
        drop(decoder.push(None, &noise));
        drop(decoder.finish());
    }
}

/// Objects that look like fragments: known fields with known and with absurd values.
fn any_event() -> BoxedStrategy<Value> {
    let reason = prop::sample::select(vec!["STOP", "SAFETY", "MALFORMED_FUNCTION_CALL", ""]);
    let event = (0..8_u8, reason, kit::json(), kit::json(), any::<bool>()).prop_map(
        |(kind, reason, one, two, absurd)| {
            let part = match kind {
                0 => json!({ "text": "some" }),
                1 => json!({ "text": "", "thoughtSignature": "c2ln" }),
                2 => json!({ "text": "hm", "thought": true }),
                3 => json!({ "functionCall": { "name": "clock", "args": one } }),
                4 => json!({ "inlineData": { "mimeType": "image/png", "data": "AAAA" } }),
                5 => json!({ "fileData": { "fileUri": "https://a.example/b" } }),
                6 => json!({ "toolCall": one, "thoughtSignature": "c2ln" }),
                _ => one.clone(),
            };
            let mut candidate = json!({ "content": { "parts": [part], "role": "model" } });
            if !reason.is_empty() {
                candidate["finishReason"] = json!(reason);
            }
            if absurd {
                candidate["content"] = two;
            }
            json!({ "candidates": [candidate], "usageMetadata": { "promptTokenCount": 1 } })
        },
    );
    prop_oneof![4 => event, 1 => kit::json()].boxed()
}

/// Fragments that say nothing yet.
const UNKNOWN: &[&str] = &[
    "{}",
    "{\"modelStatus\":{\"modelStage\":\"STABLE\"}}",
    "{\"candidates\":[]}",
    "{\"candidates\":[{\"index\":0,\"mood\":\"fine\"}]}",
    "{\"candidates\":[{\"index\":1,\"content\":{\"parts\":[{\"text\":\"another\"}]}}]}",
];

fn with_unknown_fields(data: &str) -> String {
    let mut data: Value = serde_json::from_str(data).expect("JSON");
    data["addedLater"] = json!({ "nested": [null] });
    if let Some(candidates) = data["candidates"].as_array_mut() {
        for candidate in candidates {
            candidate["addedLater"] = json!([1, "two"]);
            candidate["content"]["addedLater"] = json!(true);
        }
    }
    data.to_string()
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
