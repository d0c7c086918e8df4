//! Replies that go on behind a finish reason: some servers write one into every chunk, or text behind the last one.

use jackfield_dialect_openai::chat::stream::Decoder;
use jackfield_dialect_openai::profile::InlineThinking;
use jackfield_domain::reply::FinishReason;
use serde_json::{Value, json};

use super::read::{accumulated, calls, chunk, owner, prose, read};

/// Checks the words and calls of a reply of these deltas, each with a finish reason, with and without a last event.
fn check(decoder: fn() -> Decoder, pieces: &[(Value, Value)], words: &[&str], called: &[&str]) {
    let chunks = pieces.iter().map(|(delta, finish)| chunk(delta, finish));
    let mut events: Vec<String> = chunks.collect();
    for last in ["[DONE]", ""] {
        events.push(last.to_owned());
        let (deltas, end) = read(decoder(), events.iter().map(String::as_str)).expect("a reply");
        let reply = accumulated(&deltas, end);
        assert_eq!(prose(&reply), words, "{pieces:?} {last}");
        assert_eq!(calls(&reply), called, "{pieces:?} {last}");
        let expected = if called.is_empty() {
            FinishReason::Stop
        } else {
            FinishReason::ToolCalls
        };
        assert_eq!(reply.end.finish, expected, "{pieces:?} {last}");
        events.pop();
    }
}

fn plain() -> Decoder {
    Decoder::new(owner())
}

#[test]
fn text_behind_a_finish_reason_continues_the_text() {
    let stop = json!("stop");
    let text = |text: &str| json!({ "content": text });
    for pieces in [
        [
            (text("It "), Value::Null),
            (text("is "), stop.clone()),
            (text("so."), Value::Null),
        ],
        [
            (text("It "), stop.clone()),
            (text("is "), stop.clone()),
            (text("so."), stop.clone()),
        ],
        [
            (text("It is "), stop.clone()),
            (json!({}), stop.clone()),
            (text("so."), stop.clone()),
        ],
    ] {
        check(plain, &pieces, &["text It is so."], &[]);
    }
}

#[test]
fn a_call_and_reasoning_go_on_behind_a_finish_reason() {
    let reason = json!("tool_calls");
    let call = |call: Value| (json!({ "tool_calls": [call] }), reason.clone());
    let pieces = [
        (json!({ "reasoning_content": "Hm" }), json!("stop")),
        (json!({ "reasoning_content": "m." }), json!("stop")),
        call(
            json!({ "index": 0, "id": "c1", "function": { "name": "look", "arguments": "{\"a\":" } }),
        ),
        call(json!({ "index": 0, "function": { "arguments": "1}" } })),
    ];
    let words = ["thinking Hmm. in reasoning_content"];
    check(plain, &pieces, &words, &["c1 look {\"a\":1}"]);
}

#[test]
fn a_tag_that_is_parted_by_a_finish_reason_is_a_tag() {
    let pieces = ["<thi", "nk>Hm.</thi", "nk>So."];
    let pieces = pieces.map(|text| (json!({ "content": text }), json!("stop")));
    let decoder = || Decoder::new(owner()).with_inline_thinking(InlineThinking::Tagged);
    let chunks = pieces.clone().map(|(delta, finish)| chunk(&delta, &finish));
    let read = read(decoder(), chunks.iter().map(String::as_str));
    let (deltas, end) = read.expect("a reply");
    let words = prose(&accumulated(&deltas, end));
    assert_eq!(words, ["thinking Hm. in nothing", "text So."]);
}
