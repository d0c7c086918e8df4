//! The laws of replies: told in pieces or whole, they are the same.

use std::sync::Arc;

use jackfield_dialect_openai::responses::reply;
use jackfield_dialect_openai::responses::stream::{
    DecodeError, DecodeReply as _, Decoder, Encoder, SseEvent,
};
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::failure::ModelFailureKind;
use jackfield_domain::ids::{ModelAttempt, TurnId};
use jackfield_domain::reply::{FinishReason, Reply, ReplyEnd};
use jackfield_testkit::laws::replies::{Decoded, Event, ReadFailure, ReplyMappers};
use jackfield_testkit::replies::{self, with_our_ids, without_state};
use jackfield_testkit::{arb as kit, outline};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

use super::arb::{self, attempt};
use super::{about, owner};

struct Responses;

impl ReplyMappers for Responses {
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
        let more = [true, false, false, false, false];
        let changed = habitual(&data, more).unwrap_or(data);
        (name, changed)
    }

    fn through_whole(reply: &Reply) -> Result<(Vec<Delta>, ReplyEnd), String> {
        // What it was streamed from has our ids alone, too.
        let reply = Reply {
            message: Arc::new(with_our_ids(&reply.message, &owner())),
            ..reply.clone()
        };
        let (response, _) = reply::to_wire(&reply, &about());
        let bytes = serde_json::to_vec(&response).expect("wire forms can be written");
        let read = Decoder::new(owner()).read_whole(&bytes);
        read.map_err(|error| error.to_string())
    }
}

jackfield_testkit::reply_laws!(Responses);

proptest! {
    #[test]
    fn a_reply_without_notes_comes_back_equal(reply in arb::reply()) {
        let (response, notes) = reply::to_wire(&reply, &about());
        let bytes = serde_json::to_vec(&response).expect("wire forms can be written");
        let (deltas, end) = Decoder::new(owner()).read_whole(&bytes).map_err(failed)?;
        let back = accumulated(&deltas, end);
        prop_assert_eq!(back.end.usage, reply.end.usage);
        let named = |path: &str| notes.iter().any(|note| note.path == path);
        prop_assert_eq!(back.end.finish != reply.end.finish, named("end.finish"));
        if notes.iter().all(|note| note.path == "end.finish") {
            let differences = outline::differences(
                &outline::of_blocks(&without_state(&reply.message, &owner()).blocks),
                &outline::of_blocks(&without_state(&back.message, &owner()).blocks),
            );
            prop_assert!(differences.is_empty(), "{differences:?}");
        }
    }

    #[test]
    fn what_is_unknown_or_missing_by_habit_changes_nothing(
        (reply, deltas) in told(),
        places in prop::collection::vec((any::<Index>(), 0..UNKNOWN.len()), 1..6),
        habits in any::<[bool; 5]>(),
    ) {
        let plain = encoded(&deltas, &reply.end);
        let mut events: Vec<(Option<String>, String)> = plain
            .iter()
            .filter_map(|event| Some((event.event.map(str::to_owned), habitual(&event.data, habits)?)))
            .collect();
        for (place, which) in places {
            let place = place.index(events.len());
            let (name, data) = UNKNOWN[which];
            events.insert(place, (Some(name.to_owned()), data.to_owned()));
        }
        events.push((None, "[DONE]".to_owned()));
        let mut decoder = Decoder::new(owner());
        let mut out = Vec::new();
        for (name, data) in &events {
            out.extend(decoder.push(name.as_deref(), data).map_err(failed)?);
        }
        let end = decoder.finish().map_err(failed)?;
        let (expected, expected_end) = decoded(&plain).map_err(failed)?;
        prop_assert_eq!(accumulated(&out, end), accumulated(&expected, expected_end));
    }

    #[test]
    fn items_come_strictly_one_after_another((reply, deltas) in told()) {
        let mut open: Option<u64> = None;
        let mut next = 0;
        let mut ids = Vec::new();
        let events = encoded(&deltas, &reply.end);
        prop_assert_eq!(events[0].event, Some("response.created"));
        prop_assert_eq!(events[1].event, Some("response.in_progress"));
        for (number, event) in (0_u64..).zip(&events) {
            let data: Value = serde_json::from_str(&event.data).expect("JSON");
            prop_assert_eq!(data["type"].as_str(), event.event);
            prop_assert_eq!(data["sequence_number"].as_u64(), Some(number));
            let index = data["output_index"].as_u64();
            match event.event.unwrap_or_default() {
                "response.output_item.added" => {
                    prop_assert_eq!((open, index), (None, Some(next)));
                    open = index;
                    next += 1;
                    ids.push(data["item"]["id"].clone());
                }
                "response.output_item.done" => {
                    prop_assert_eq!(open, index);
                    prop_assert_eq!(ids.last(), Some(&data["item"]["id"]));
                    open = None;
                }
                name if name.contains("_text.") || name.contains("_part.") || name.contains("_call") => {
                    prop_assert_eq!(open, index);
                    prop_assert_eq!(ids.last(), Some(&data["item_id"]));
                }
                _ => prop_assert!(open.is_none() || index == open),
            }
        }
    }

    #[test]
    fn a_failure_is_read_as_one((_, deltas) in told(), failure in kit::model_failure()) {
        let mut encoder = Encoder::new(&about());
        let mut events: Vec<SseEvent> = deltas.iter().flat_map(|delta| encoder.push(delta)).collect();
        events.extend(encoder.fail(&failure));
        match decoded(&events) {
            Err(DecodeError::Failed(told)) => {
                prop_assert!(told.message.contains(failure.message.trim()), "{}", told.message);
                let limited = matches!(
                    failure.kind,
                    ModelFailureKind::BudgetExhausted | ModelFailureKind::RateLimited
                );
                prop_assert_eq!(told.kind == ModelFailureKind::RateLimited, limited);
            }
            other => prop_assert!(false, "{other:?}"),
        }
    }
}

/// Events that no reader need know.
const UNKNOWN: &[(&str, &str)] = &[
    ("ping", ""),
    ("heartbeat", "not even JSON"),
    (
        "response.mood",
        "{\"type\":\"response.mood\",\"output_index\":\"all\",\"delta\":7}",
    ),
    (
        "response.web_search_call.searching",
        "{\"type\":\"response.web_search_call.searching\",\"output_index\":0}",
    ),
    ("codex.rate_limits", "{\"type\":\"codex.rate_limits\"}"),
];

/// An event as some server would write it: fields too many, or too few; `None` if it leaves it out.
fn habitual(data: &str, habits: [bool; 5]) -> Option<String> {
    let [more, no_index, no_sequence, no_parts, no_pieces] = habits;
    let mut data: Value = serde_json::from_str(data).expect("JSON");
    let kind = data["type"].as_str().unwrap_or_default().to_owned();
    if no_parts && kind.contains("_part.") {
        return None;
    }
    if no_pieces && (kind.ends_with(".delta") || kind.ends_with("_text.done")) {
        return None;
    }
    let fields = data.as_object_mut().expect("an object");
    if more {
        fields.insert("obfuscation".to_owned(), json!("xyz"));
        fields.insert("added_later".to_owned(), json!({ "type": "error" }));
    }
    if no_index {
        fields.remove("output_index");
    }
    if no_sequence {
        fields.remove("sequence_number");
    }
    Some(data.to_string())
}

fn failed(error: DecodeError) -> TestCaseError {
    TestCaseError::fail(error.to_string())
}

/// A reply, and pieces of it in any order in which they may come.
fn told() -> BoxedStrategy<(Reply, Vec<Delta>)> {
    let both = arb::reply().prop_flat_map(|reply| {
        let message = with_our_ids(&reply.message, &owner());
        let deltas = kit::deltas_of(&message.blocks);
        (Just(reply), deltas, any::<bool>())
    });
    let both = both.prop_map(|(reply, deltas, early)| {
        let deltas = if early { named_early(deltas) } else { deltas };
        (reply, deltas)
    });
    both.boxed()
}

/// The same pieces, with what reasoning is called right at its beginning, as a decoder tells it.
fn named_early(deltas: Vec<Delta>) -> Vec<Delta> {
    let of_block = |block: u32, mut from: std::slice::Iter<'_, Delta>| {
        let mut words = String::new();
        let mut item = None;
        let end = from.find(|delta| {
            match delta {
                Delta::TextAppended { index, text } if *index == block => words.push_str(text),
                Delta::StateSet { index, state } if *index == block => item = Some(state.clone()),
                _ => {}
            }
            matches!(delta, Delta::BlockEnded { index } if *index == block)
        });
        let mut item = item.filter(|_| end.is_some())?;
        let summary = item.json.pointer("/summary/0/text");
        // The words of an item are what was told of it.
        if summary.and_then(Value::as_str).unwrap_or_default() != words {
            return None;
        }
        item.json = json!({ "id": item.json["id"] });
        Some(item)
    };
    let mut out = Vec::with_capacity(deltas.len());
    for (n, delta) in deltas.iter().enumerate() {
        out.push(delta.clone());
        if let Delta::BlockStarted { index, start } = delta
            && matches!(start, BlockStart::Thinking { .. })
            && let Some(state) = of_block(*index, deltas[n..].iter())
        {
            out.push(Delta::StateSet {
                index: *index,
                state,
            });
        }
    }
    out
}

pub(super) fn encoded(deltas: &[Delta], end: &ReplyEnd) -> Vec<SseEvent> {
    let mut encoder = Encoder::new(&about());
    let mut events: Vec<SseEvent> = deltas
        .iter()
        .flat_map(|delta| encoder.push(delta))
        .collect();
    events.extend(encoder.finish(end));
    events
}

fn decoded(events: &[SseEvent]) -> Result<(Vec<Delta>, ReplyEnd), DecodeError> {
    let mut decoder = Decoder::new(owner());
    let mut deltas = Vec::new();
    for event in events {
        deltas.extend(decoder.push(event.event, &event.data)?);
    }
    Ok((deltas, decoder.finish()?))
}

pub(super) fn accumulated(deltas: &[Delta], end: ReplyEnd) -> Reply {
    replies::accumulated(attempt(), deltas, end)
}

#[test]
fn a_reply_that_says_nothing_is_whole_all_the_same() {
    let events = encoded(&[], &ReplyEnd::new(FinishReason::Stop));
    let names: Vec<&str> = events.iter().filter_map(|event| event.event).collect();
    assert_eq!(
        names,
        [
            "response.created",
            "response.in_progress",
            "response.completed"
        ]
    );
}
