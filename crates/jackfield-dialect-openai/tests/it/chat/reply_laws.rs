//! The laws of replies: told in pieces or whole, they are the same.

use std::sync::Arc;

use jackfield_dialect_openai::chat::stream::{
    DecodeError, DecodeReply as _, Decoder, Encoder, SseEvent,
};
use jackfield_dialect_openai::chat::{reply, wire};
use jackfield_domain::block::{Block, Content, Text, Thinking, ToolCall};
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::ids::{ModelAttempt, TurnId};
use jackfield_domain::message::Message;
use jackfield_domain::reply::{FinishReason, Reply, ReplyEnd};
use jackfield_testkit::laws::replies::{Decoded, Event, ReadFailure, ReplyMappers};
use jackfield_testkit::replies::{self, states_first, with_our_ids};
use jackfield_testkit::{arb as kit, outline};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::arb;
use super::read::{accumulated, attempt, owner};

struct Chat;

impl ReplyMappers for Chat {
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
        through_whole(reply).map_err(|error| error.to_string())
    }

    /// All reasoning, all words, all refusals, then the rest.
    fn gathered(message: &Message) -> Vec<Block> {
        let mut thinking = String::new();
        let mut text = String::new();
        let mut annotations = Vec::new();
        let mut refusal = String::new();
        let mut rest = Vec::new();
        let mut calls = Vec::new();
        for block in &message.blocks {
            match &block.content {
                Content::Thinking(more) => thinking.push_str(&more.text),
                Content::Text(more) => {
                    text.push_str(&more.text);
                    annotations.extend(more.annotations.clone());
                }
                Content::Refusal(more) => refusal.push_str(more),
                Content::ToolCall(_) => calls.push(block.clone()),
                _ => rest.push(block.clone()),
            }
        }
        let mut blocks = vec![
            Content::Thinking(Thinking {
                redacted: false,
                text: thinking.into(),
            })
            .into(),
            Content::Text(Text {
                annotations,
                text: text.into(),
            })
            .into(),
            Content::Refusal(refusal.into()).into(),
        ];
        blocks.append(&mut rest);
        blocks.append(&mut calls);
        blocks
    }

    /// What was changed on the way is noted where it was found.
    fn common_end(end: &ReplyEnd) -> ReplyEnd {
        ReplyEnd {
            finish: end.finish.clone(),
            opaque: end.opaque.clone(),
            usage: end.usage,
            ..ReplyEnd::new(FinishReason::Stop)
        }
    }

    /// All up to the reason of the end: usage and `[DONE]` may be missing.
    fn needed(events: &[Event]) -> usize {
        let is_end = |(_, data): &Event| data == "[DONE]" || data.contains("\"finish_reason\":\"");
        events.iter().position(is_end).expect("an ending") + 1
    }
}

jackfield_testkit::reply_laws!(Chat);

proptest! {
    #[test]
    fn a_reply_without_notes_comes_back_equal(reply in arb::reply()) {
        let (_, notes) = reply::to_wire(&reply, "model-a", "chatcmpl-1", 1);
        let (deltas, end) = through_whole(&reply)?;
        let back = accumulated(&deltas, end);
        prop_assert_eq!(&back.end.usage, &reply.end.usage);
        let kept = notes.iter().all(|note| note.code != "finish_reason_changed");
        prop_assert_eq!(kept, back.end.finish == reply.end.finish);
        // Arguments that templates have wrapped are unwrapped on the way, which the end notes.
        let shaped = notes.iter().all(|note| !note.path.starts_with("blocks"));
        if shaped && back.end.notes.is_empty() {
            let differences = outline::differences(
                &outline::of_blocks(&without_state(&reply.message)),
                &outline::of_blocks(&without_state(&back.message)),
            );
            prop_assert!(differences.is_empty(), "{differences:?}");
        } else {
            prop_assert!(
                !notes.is_empty() || without_state(&reply.message) != without_state(&back.message),
                "nothing differs: {notes:#?}"
            );
        }
    }

    #[test]
    fn what_is_served_has_the_vendors_strict_shape((reply, deltas) in told()) {
        let events = encoded(&deltas, &reply.end);
        let (done, chunks) = events.split_last().expect("events");
        prop_assert_eq!(done.data.as_str(), "[DONE]");
        let chunks: Vec<Value> = chunks
            .iter()
            .map(|event| serde_json::from_str(&event.data).expect("JSON"))
            .collect();
        prop_assert_eq!(&chunks[0]["choices"][0]["delta"]["role"], "assistant");
        let mut begun = 0;
        let mut ended = false;
        for chunk in &chunks {
            prop_assert_eq!(&chunk["id"], &chunks[0]["id"]);
            let choice = &chunk["choices"][0];
            if choice.is_null() {
                prop_assert!(ended && chunk["usage"].is_object());
                continue;
            }
            prop_assert!(!ended, "a chunk follows the reason");
            for call in choice["delta"]["tool_calls"].as_array().into_iter().flatten() {
                let index = call["index"].as_u64().expect("a number");
                if call["id"].is_string() {
                    prop_assert_eq!(index, begun);
                    begun += 1;
                } else {
                    prop_assert!(index < begun);
                }
            }
            if choice["finish_reason"].is_string() {
                prop_assert_eq!(&choice["delta"], &json!({}));
                ended = true;
            }
        }
        prop_assert!(ended);
    }

    #[test]
    fn nothing_makes_the_decoder_panic(events in prop::collection::vec(any_event(), 0..8)) {
        let mut decoder = Decoder::new(owner());
        let mut deltas = Vec::new();
        for event in events {
            match decoder.push(None, &event.to_string()) {
                Ok(more) => deltas.extend(more),
                Err(_) => return Ok(()),
            }
        }
        if let Ok(more) = decoder.push(None, "[DONE]") {
            deltas.extend(more);
            match decoder.finish() {
                Ok(end) => drop(accumulated(&deltas, end)),
                // Nothing of it was a piece of a reply.
                Err(DecodeError::Truncated { .. }) => prop_assert_eq!(deltas, []),
                Err(error) => return Err(failed(error)),
            }
        }
    }

    #[test]
    fn what_is_served_is_written_as_the_wire_form_is(
        words in prop::collection::vec(kit::text(), 1..4),
        id in kit::text(),
        model in kit::text(),
    ) {
        prop_assume!(!words[0].trim().is_empty());
        let chunk = |delta: wire::Delta, finish: Option<&str>| {
            let choice = wire::ChoiceDelta {
                index: 0,
                delta,
                logprobs: None,
                finish_reason: finish.map(str::to_owned),
            };
            let chunk = wire::Chunk {
                id: id.to_string(),
                object: "chat.completion.chunk".to_owned(),
                created: 7,
                model: model.to_string(),
                choices: vec![choice],
                usage: None,
            };
            serde_json::to_string(&chunk).expect("JSON")
        };
        let mut encoder = Encoder::new(&*id, &*model, 7);
        encoder.begin();
        encoder.push(&Delta::BlockStarted { index: 0, start: BlockStart::Text });
        for text in words {
            let written = encoder.push(&Delta::TextAppended { index: 0, text: Arc::clone(&text) });
            let written: Vec<String> = written.into_iter().map(|event| event.data).collect();
            let content = Some(text.to_string());
            let told = chunk(wire::Delta { content, ..wire::Delta::default() }, None);
            prop_assert_eq!(written, if text.is_empty() { Vec::new() } else { vec![told] });
        }
        encoder.push(&Delta::BlockEnded { index: 0 });
        let end = encoder.finish(&ReplyEnd::new(FinishReason::Stop));
        prop_assert_eq!(&end[0].data, &chunk(wire::Delta::default(), Some("stop")));
    }

    #[test]
    fn chunks_of_words_alone_are_read_as_any_other(
        said in prop::collection::vec(
            (prop_oneof![
                4 => kit::text().prop_map(|text| text.to_string()),
                2 => "[ a-c\"\\\\}\n]{0,4}",
                1 => Just("\"},\"finish_reason\":\"stop\",\"x\":{\"y\":\"".to_owned()),
            ], 0..12_u32, prop::bool::weighted(0.05)),
            0..24,
        ),
    ) {
        let chunks: Vec<Value> = said.iter().map(|(words, created, ends)| json!({
            "id": "chatcmpl-A",
            "object": "chat.completion.chunk",
            "created": created / 3,
            "model": "model-a",
            "choices": [{
                "index": 0,
                "delta": { "content": words },
                "finish_reason": ends.then_some("stop"),
            }],
        })).collect();
        let read = |slowly: bool| {
            let mut decoder = Decoder::new(owner());
            let mut out = Vec::new();
            for chunk in &chunks {
                let mut chunk = chunk.clone();
                if slowly {
                    chunk["something_else"] = json!(1);
                }
                out.push(decoder.push(None, &chunk.to_string()));
            }
            out.push(decoder.push(None, "[DONE]"));
            (out, decoder.finish())
        };
        prop_assert_eq!(read(false), read(true));
    }

    #[test]
    fn a_reply_of_words_alone_is_read_as_any_other(
        words in prop_oneof![kit::text().prop_map(|text| text.to_string()), " {0,3}", Just(String::new())],
        (finish, refusal) in (prop::sample::select(FINISHES), prop::sample::select(REFUSALS)),
        usage in prop::sample::select(USAGES),
        named in any::<bool>(),
    ) {
        let mut body = json!({
            "object": "chat.completion",
            "created": 1_795_000_000,
            "choices": [{
                "index": 0,
                "message": { "role": "assistant", "content": words, "annotations": [], "tool_calls": null },
                "logprobs": null,
            }],
        });
        for (at, key, said) in [
            ("/choices/0", "finish_reason", finish),
            ("/choices/0/message", "refusal", refusal),
            ("", "usage", usage),
            ("", "id", named.then_some("\"chatcmpl-A\"")),
            ("", "model", named.then_some("\"\"")),
        ] {
            if let Some(said) = said {
                body.pointer_mut(at).expect("a place")[key] = serde_json::from_str(said).expect("JSON");
            }
        }
        let mut other = body.clone();
        other["something_else"] = json!(true);
        let [one, other] = [body, other].map(|body| {
            Decoder::new(owner()).read_whole(body.to_string().as_bytes())
        });
        prop_assert_eq!(one, other);
    }

    #[test]
    fn no_bytes_make_the_reader_of_wholes_panic(body in kit::json(), message in any_event()) {
        for body in [body, json!({ "choices": [{ "message": message }] })] {
            drop(Decoder::new(owner()).read_whole(body.to_string().as_bytes()));
        }
    }
}

/// What a reply of words may say of its end, of a refusal, and of its usage; nothing is a missing field.
const FINISHES: &[Option<&str>] = &[
    None,
    Some("null"),
    Some("\"\""),
    Some("\"null\""),
    Some("\"stop\""),
    Some("\"length\""),
    Some("\"error\""),
    Some("\"made_up\""),
    Some("\"tool_calls\""),
];
const REFUSALS: &[Option<&str>] = &[None, Some("null"), Some("\"\""), Some("\"I will not\"")];
const USAGES: &[Option<&str>] = &[
    None,
    Some("null"),
    Some("7"),
    Some("{}"),
    Some(
        "{\"prompt_tokens\":12.0,\"completion_tokens\":7,\"prompt_tokens_details\":{\"cached_tokens\":3}}",
    ),
    Some("{\"input_tokens\":12,\"output_tokens\":null,\"cached_tokens\":1}"),
];

/// Events that say nothing.
const UNKNOWN: &[&str] = &[
    "",
    "null",
    "{}",
    "{\"choices\":[]}",
    "{\"choices\":null,\"timings\":{\"predicted_n\":1}}",
    "{\"choices\":[{\"index\":1,\"delta\":{\"content\":\"no\"}}]}",
    "{\"choices\":[{\"index\":0,\"delta\":null,\"finish_reason\":null}]}",
    "{\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[]}}]}",
];

fn with_unknown_fields(data: &str) -> String {
    let Ok(mut data) = serde_json::from_str::<Value>(data) else {
        return data.to_owned();
    };
    data["obfuscation"] = json!("xxxx");
    for inner in ["/choices/0", "/choices/0/delta", "/usage"] {
        if let Some(Value::Object(fields)) = data.pointer_mut(inner) {
            fields.insert("added_later".to_owned(), json!([1, "two"]));
        }
    }
    data.to_string()
}

/// Chunks with anything in known places.
fn any_event() -> impl Strategy<Value = Value> {
    let small = prop_oneof![
        3 => prop::sample::select(&["", "f", "{", "{\"a\":1}", "stop", "length", "null"][..]).prop_map(Value::from),
        1 => kit::json(),
        1 => (-2..3_i64).prop_map(Value::from),
    ];
    let call = (small.clone(), small.clone(), small.clone(), small.clone()).prop_map(
        |(index, id, name, arguments)| {
            json!({ "index": index, "id": id, "function": { "name": name, "arguments": arguments } })
        },
    );
    let calls = prop_oneof![
        3 => prop::collection::vec(call, 0..3).prop_map(Value::from),
        1 => small.clone(),
    ];
    (small.clone(), small.clone(), calls, small).prop_map(|(content, reasoning, calls, finish)| {
        json!({ "choices": [{
            "index": 0,
            "delta": { "content": content, "reasoning_content": reasoning, "tool_calls": calls },
            "finish_reason": finish,
        }] })
    })
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
    let mut encoder = Encoder::new("chatcmpl-1", "model-a", 1).with_usage();
    let mut events: Vec<SseEvent> = deltas
        .iter()
        .flat_map(|delta| encoder.push(delta))
        .collect();
    events.extend(encoder.finish(end));
    events
}

fn through_whole(reply: &Reply) -> Result<(Vec<Delta>, ReplyEnd), TestCaseError> {
    let (body, _) = reply::to_wire(reply, "model-a", "chatcmpl-1", 1);
    let bytes = serde_json::to_vec(&body).expect("wire forms can be written");
    Decoder::new(owner()).read_whole(&bytes).map_err(failed)
}

/// The blocks without state and with our ids alone.
fn without_state(message: &Message) -> Vec<Block> {
    let mut blocks = replies::without_state(message, &owner()).blocks;
    for block in &mut blocks {
        if let Content::ToolCall(call) = &mut block.content {
            *call = Arc::new(ToolCall {
                upstream: None,
                ..(**call).clone()
            });
        }
    }
    blocks
}
