//! Whatever a server says: no panic, and pieces that keep the rules.

use jackfield_dialect_openai::responses::stream::{DecodeReply as _, Decoder};
use jackfield_domain::accumulator::ReplyAccumulator;
use jackfield_testkit::arb as kit;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::arb::attempt;
use super::owner;

proptest! {
    #[test]
    fn pieces_of_any_stream_keep_the_rules_of_pieces(
        events in prop::collection::vec((0..KINDS.len(), any_event()), 0..14),
        noise in ".{0,40}",
    ) {
        let (turn, attempt) = attempt();
        let mut accumulator = ReplyAccumulator::new(turn, attempt);
        let mut decoder = Decoder::new(owner());
        for (kind, mut event) in events {
            if let Some(fields) = event.as_object_mut() {
                fields.insert("type".to_owned(), json!(KINDS[kind]));
            }
            let Ok(deltas) = decoder.push(Some(KINDS[kind]), &event.to_string()) else { return Ok(()) };
            for delta in deltas {
                prop_assert_eq!(accumulator.push(&delta), Ok(()));
            }
        }
        let complete = decoder.is_complete();
        drop(decoder.push(None, &noise));
        prop_assert_eq!(decoder.finish().is_ok(), complete);
        if complete {
            prop_assert_eq!(accumulator.check_ended(), Ok(()));
        }
    }

    #[test]
    fn no_body_makes_the_decoder_panic(body in kit::json(), item in kit::json_object(), noise in ".{0,60}") {
        let bodies = [body.to_string(), json!({ "output": [item], "status": body }).to_string(), noise];
        for body in bodies {
            drop(Decoder::new(owner()).read_whole(body.as_bytes()));
        }
    }
}

const KINDS: &[&str] = &[
    "response.completed",
    "response.content_part.added",
    "response.content_part.done",
    "response.created",
    "response.custom_tool_call_input.delta",
    "response.custom_tool_call_input.done",
    "response.function_call_arguments.delta",
    "response.function_call_arguments.done",
    "response.output_item.added",
    "response.output_item.done",
    "response.output_text.annotation.added",
    "response.output_text.delta",
    "response.output_text.done",
    "response.reasoning_summary_text.delta",
    "response.reasoning_summary_text.done",
    "response.reasoning_text.delta",
    "response.refusal.delta",
];

/// Objects that look like events: known fields with known and with absurd values.
fn any_event() -> BoxedStrategy<Value> {
    let kind = prop::sample::select(vec![
        "message",
        "reasoning",
        "function_call",
        "custom_tool_call",
        "web_search_call",
    ]);
    let part = prop::sample::select(vec!["output_text", "refusal", "reasoning_text"]);
    let event = (-1..3_i64, 0..3_i64, kind, part, kit::json(), 0..8_u8).prop_map(
        |(index, place, kind, part, odd, absurd)| {
            let text = if absurd == 0 { odd.clone() } else { json!("{}") };
            let item = json!({
                "type": kind, "id": format!("i_{index}"), "call_id": format!("c_{index}"), "name": "n",
                "arguments": text, "input": text, "summary": [{ "type": "summary_text", "text": text }],
                "content": [{ "type": part, "text": text, "refusal": text }],
            });
            json!({
                "output_index": index,
                "item_id": if absurd == 1 { odd } else { json!(format!("i_{place}")) },
                "content_index": place,
                "summary_index": place,
                "delta": text,
                "text": text,
                "refusal": text,
                "arguments": text,
                "annotation": { "type": "url_citation" },
                "part": { "type": part, "text": text, "refusal": text },
                "item": item,
                "response": { "output": [item], "status": "completed" },
            })
        },
    );
    prop_oneof![8 => event, 1 => kit::json()].boxed()
}
