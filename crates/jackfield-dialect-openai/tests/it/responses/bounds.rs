//! A server that never comes to an end is given up, whatever it sends.

use jackfield_dialect_openai::responses::stream::{DecodeReply as _, Decoder};
use jackfield_domain::failure::ModelFailureKind;
use serde_json::{Value, json};

use super::owner;

/// Sends events until the decoder has had enough; how many it took, and the kind of its failure.
fn sent(events: impl Iterator<Item = Value>) -> (usize, Option<ModelFailureKind>) {
    let mut decoder = Decoder::new(owner());
    for (n, event) in events.enumerate() {
        if let Err(error) = decoder.push(None, &event.to_string()) {
            return (n, Some(error.failure().kind));
        }
    }
    (usize::MAX, None)
}

#[test]
fn items_without_end_are_a_violation() {
    let items = (0..5_000).map(|n| {
        json!({
            "type": "response.output_item.added",
            "output_index": n,
            "item": { "type": "function_call", "id": format!("fc_{n}"), "call_id": "c", "name": "w" },
        })
    });
    let (taken, kind) = sent(items);
    assert_eq!(kind, Some(ModelFailureKind::ProtocolViolation));
    assert_eq!(taken, 4096);
}

#[test]
fn bytes_without_end_are_a_violation_whatever_event_they_come_in() {
    let large = "a".repeat(8 << 20);
    let message = json!({ "type": "message", "id": "msg_1", "role": "assistant", "content": [] });
    let begun = json!({ "type": "response.output_item.added", "output_index": 0, "item": message });
    let remark = json!({
        "type": "response.output_text.annotation.added",
        "output_index": 0,
        "content_index": 0,
        "annotation": { "type": "url_citation", "title": large },
    });
    let events = std::iter::once(begun).chain(std::iter::repeat_n(remark, 40));
    let (taken, kind) = sent(events);
    assert_eq!(kind, Some(ModelFailureKind::ProtocolViolation));
    assert_eq!(taken, 32, "256 MiB in all");
}
