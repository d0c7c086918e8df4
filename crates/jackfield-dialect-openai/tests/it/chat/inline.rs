//! Reasoning in the text of a reply, between tags.

use jackfield_dialect_openai::chat::stream::{DecodeReply as _, Decoder};
use jackfield_dialect_openai::profile::{InlineThinking, Profile};
use jackfield_domain::block::Content;
use jackfield_domain::reply::Reply;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

use super::read::{accumulated, calls, chunk, owner, prose, read};

fn decoder(way: InlineThinking) -> Decoder {
    Decoder::new(owner()).with_inline_thinking(way)
}

/// The reply of these pieces of text.
fn of_pieces(way: InlineThinking, pieces: &[&str]) -> Reply {
    let mut events: Vec<String> = pieces
        .iter()
        .map(|piece| chunk(&json!({ "content": piece }), &Value::Null))
        .collect();
    events.push(chunk(&json!({}), &json!("stop")));
    events.push("[DONE]".to_owned());
    let told = read(decoder(way), events.iter().map(String::as_str));
    let (deltas, end) = told.expect("a reply");
    accumulated(&deltas, end)
}

/// The same in one piece.
fn whole(way: InlineThinking, text: &str) -> Reply {
    let body = json!({ "id": "r", "object": "chat.completion", "created": 0, "model": "m", "choices": [
        { "index": 0, "finish_reason": "stop", "message": { "role": "assistant", "content": text } } ] });
    let (deltas, end) = decoder(way)
        .read_whole(body.to_string().as_bytes())
        .expect("a reply");
    accumulated(&deltas, end)
}

/// The blocks of words of a reply in short.
fn said(reply: &Reply) -> Vec<String> {
    let blocks = reply.message.blocks.iter();
    let said = blocks.filter_map(|block| match &block.content {
        Content::Text(text) => Some(format!("text: {}", text.text)),
        Content::Thinking(thinking) => Some(format!("thinking: {}", thinking.text)),
        _ => None,
    });
    said.collect()
}

#[test]
fn reasoning_between_tags_at_the_beginning_is_no_answer() {
    use InlineThinking::{None, Opened, Tagged};
    for (way, text, expected) in [
        (
            Tagged,
            "<think>\nHm.\n\nYes.\n</think>\n\nIt is.",
            vec!["thinking: Hm.\n\nYes.", "text: It is."],
        ),
        (
            Tagged,
            "\n <think>a</think>b",
            vec!["thinking: a", "text: b"],
        ),
        (Tagged, "<think>\n\n</think>\n\nb", vec!["text: b"]),
        (Tagged, "[THINK]a[/THINK]b", vec!["thinking: a", "text: b"]),
        (
            Tagged,
            "<think>never ended </thi",
            vec!["thinking: never ended </thi"],
        ),
        (
            Tagged,
            "Say <think>a</think>.",
            vec!["text: Say <think>a</think>."],
        ),
        (Tagged, "<thin", vec!["text: <thin"]),
        (
            Tagged,
            "<think>a</think>b<think>c</think>",
            vec!["thinking: a", "text: b<think>c</think>"],
        ),
        (Opened, "a</think>\nb", vec!["thinking: a", "text: b"]),
        (None, "<think>a</think>b", vec!["text: <think>a</think>b"]),
    ] {
        assert_eq!(said(&whole(way, text)), expected, "{text}");
        assert_eq!(said(&of_pieces(way, &[text])), expected, "{text}");
    }
}

#[test]
fn calls_end_the_reasoning() {
    let call = json!({ "tool_calls": [{ "index": 0, "id": "c", "function": { "name": "f", "arguments": "{}" } }] });
    let events = [
        chunk(
            &json!({ "content": "<think>Let me see.</think>\n" }),
            &Value::Null,
        ),
        chunk(&call, &Value::Null),
        chunk(&json!({}), &json!("tool_calls")),
    ];
    let told = read(
        decoder(InlineThinking::Tagged),
        events.iter().map(String::as_str),
    );
    let (deltas, end) = told.expect("a reply");
    let reply = accumulated(&deltas, end);
    assert_eq!(said(&reply), ["thinking: Let me see."]);
    assert_eq!(calls(&reply).len(), 1);
}

#[test]
fn compatible_servers_are_known_to_do_it_and_openai_is_not() {
    for profile in [
        Profile::COMPATIBLE,
        Profile::VLLM,
        Profile::LLAMA_CPP,
        Profile::OLLAMA,
    ] {
        assert_eq!(profile.inline_thinking, InlineThinking::Tagged);
    }
    for profile in [
        Profile::OPENAI,
        Profile::OPENAI_WITHOUT_REASONING,
        Profile::DEEPSEEK,
    ] {
        assert_eq!(profile.inline_thinking, InlineThinking::None);
    }
}

proptest! {
    #[test]
    fn a_text_is_read_alike_however_it_is_cut(
        parts in prop::collection::vec(prop::sample::select(vec![
            "<think>", "</think>", "[THINK]", "[/THINK]", "<", "think>", "/", "a", " ", "\n", "ж",
        ]), 0..12),
        cuts in prop::collection::vec(any::<Index>(), 0..6),
        opened: bool,
    ) {
        let way = if opened { InlineThinking::Opened } else { InlineThinking::Tagged };
        let text = parts.concat();
        let mut places: Vec<usize> = cuts.iter().map(|cut| text.floor_char_boundary(cut.index(text.len() + 1))).collect();
        places.extend([0, text.len()]);
        places.sort_unstable();
        let pieces: Vec<&str> = places.windows(2).map(|ends| &text[ends[0]..ends[1]]).filter(|piece| !piece.is_empty()).collect();
        prop_assert_eq!(prose(&of_pieces(way, &pieces)), prose(&whole(way, &text)));
    }
}
