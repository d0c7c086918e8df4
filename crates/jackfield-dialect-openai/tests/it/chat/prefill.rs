//! A conversation that ends with the model's own words, which it is to continue.

use jackfield_dialect_kit::decode::DecodeReply as _;
use jackfield_dialect_openai::chat::request;
use jackfield_dialect_openai::chat::stream::Decoder;
use jackfield_dialect_openai::profile::{Prefill, Profile};
use jackfield_domain::block::Block;
use jackfield_domain::delta::Delta;
use jackfield_domain::message::{Message, Role};
use jackfield_domain::reply::ReplyEnd;
use jackfield_domain::request::ModelRequest;
use serde_json::{Value, json};

use super::examples::{of, sent};
use super::read::{accumulated, chunk, owner, read};

fn begun(words: &str) -> ModelRequest {
    of(vec![
        Message::user("Count."),
        Message::new(Role::Assistant, vec![Block::text(words)]),
    ])
}

/// The text of a reply, its one block.
fn text(deltas: &[Delta], end: ReplyEnd) -> String {
    accumulated(deltas, end).message.to_text()
}

#[test]
fn words_at_the_end_are_sent_as_the_server_continues_them() {
    let plain = json!({ "role": "assistant", "content": "1, 2, " });
    let marked = json!({ "role": "assistant", "content": "1, 2, ", "prefix": true });
    for (profile, last, continues) in [
        (Profile::openai("gpt-4.1"), &plain, Value::Null),
        (Profile::openai("gpt-6-sol"), &plain, Value::Null),
        (Profile::COMPATIBLE, &plain, Value::Null),
        (Profile::LLAMA_CPP, &plain, Value::Null),
        (Profile::OLLAMA, &plain, Value::Null),
        (Profile::OPENROUTER, &plain, Value::Null),
        (Profile::DEEPSEEK, &plain, Value::Null),
        (Profile::VLLM, &plain, json!(true)),
        (Profile::SGLANG, &plain, json!(true)),
        (Profile::MISTRAL, &marked, Value::Null),
        (
            Profile {
                prefill: Prefill::Prefix,
                ..Profile::DEEPSEEK
            },
            &marked,
            Value::Null,
        ),
    ] {
        let (body, notes) = sent(&begun("1, 2, "), &profile);
        assert_eq!(body["messages"][1], *last, "{profile:?}");
        assert_eq!(body["continue_final_message"], continues, "{profile:?}");
        let prompt = body.get("add_generation_prompt");
        assert_eq!(prompt.is_some(), continues == true, "{profile:?}");
        assert_eq!(notes, [""; 0], "{profile:?}");
        // Where the user has the last word, nothing is to be continued.
        let (body, _) = sent(&of(vec![Message::user("Count.")]), &profile);
        assert_eq!(body.get("continue_final_message"), None, "{profile:?}");
        assert_eq!(body["messages"][0].get("prefix"), None, "{profile:?}");
    }
}

#[test]
fn a_reply_that_repeats_the_words_is_told_without_them() {
    for (begin, fragments, expected) in [
        ("1, 2,", &["1, 2, 3."][..], " 3."),
        ("1, 2,", &["1, ", "2", ",", " 3."], " 3."),
        ("1, 2, ", &["1, 2, 3."], "3."),
        // Without the blanks at the end.
        ("1, 2,\n", &["1, 2,", "3."], "3."),
        ("1, 2,\n", &["1, 2,"], ""),
        // No repetition.
        ("1, 2,", &["3, ", "4."], "3, 4."),
        ("1, 2,", &["1", ", 3."], "1, 3."),
        ("1, 2,", &["1, "], "1, "),
        ("1, 2,", &["1, 2,", "1, 2,"], "1, 2,"),
    ] {
        let profile = Profile::MISTRAL;
        let (body, _) = request::to_wire(&begun(begin), &owner(), &profile, true).expect("a body");
        let decoder = || Decoder::new(owner()).with_prefill(&body, profile.prefill);
        let mut events: Vec<String> = fragments
            .iter()
            .map(|words| chunk(&json!({ "content": words }), &Value::Null))
            .collect();
        events.push(chunk(&json!({}), &json!("stop")));
        events.push("[DONE]".to_owned());
        let events = events.iter().map(String::as_str);
        let (deltas, end) = read(decoder(), events).expect("a reply");
        let streamed = text(&deltas, end);
        assert_eq!(streamed, expected, "{fragments:?}");
        let whole = json!({ "id": "r", "object": "chat.completion", "created": 0, "model": "m",
            "choices": [{ "index": 0, "finish_reason": "stop",
                "message": { "role": "assistant", "content": fragments.concat() } }] });
        let read = decoder().read_whole(whole.to_string().as_bytes());
        let (deltas, end) = read.expect("a reply");
        assert_eq!(text(&deltas, end), expected, "{fragments:?}");
    }
    // Words that a server was not seen to repeat may be said a second time.
    let (body, _) = request::to_wire(&begun("{"), &owner(), &Profile::VLLM, true).expect("a body");
    let decoder = Decoder::new(owner()).with_prefill(&body, Prefill::ContinueFinalMessage);
    let events = [
        chunk(&json!({ "content": "{}}" }), &json!("stop")),
        "[DONE]".to_owned(),
    ];
    let (deltas, end) = read(decoder, events.iter().map(String::as_str)).expect("a reply");
    assert_eq!(text(&deltas, end), "{}}");
}
