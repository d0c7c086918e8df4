//! Streams as servers really send them, sound and unsound.

use jackfield_dialect_kit::serve::ReplyInfo;
use jackfield_dialect_openai::responses::stream::{
    DecodeError, DecodeReply as _, Decoder, Encoder, SseEvent,
};
use jackfield_domain::block::Content;
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::failure::{ModelFailureKind, Phase};
use jackfield_domain::reply::{FinishReason, Reply, ReplyEnd};
use jackfield_domain::tool_input::ToolInput;
use jackfield_domain::usage::Usage;
use serde_json::{Value, json};

use super::reply_laws::accumulated;
use super::{about, owner};

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

fn whole(output: &Value) -> Reply {
    let body = json!({ "id": "resp_1", "object": "response", "status": "completed", "model": "m", "output": output });
    let bytes = body.to_string().into_bytes();
    let (deltas, end) = Decoder::new(owner())
        .read_whole(&bytes)
        .expect("a whole reply");
    accumulated(&deltas, end)
}

/// Each block in short: what it is, its words, and the kinds of its state.
fn outline(reply: &Reply) -> Vec<String> {
    let block = |block: &jackfield_domain::block::Block| {
        let said = match &block.content {
            Content::Opaque(opaque) => format!("opaque {}", opaque.kind),
            Content::Refusal(text) => format!("refusal {text}"),
            Content::Text(text) => format!("text {} [{}]", text.text, text.annotations.len()),
            Content::Thinking(thinking) => format!("thinking {}", thinking.text),
            Content::ToolCall(call) => {
                let id = call.upstream.as_ref().map_or("-", |upstream| &upstream.id);
                match &call.input {
                    ToolInput::Json(input) => {
                        format!("call {} {id} {}", call.name.as_str(), input.raw())
                    }
                    ToolInput::Text(text) => {
                        format!("text call {} {id} {text}", call.name.as_str())
                    }
                }
            }
            other => format!("{other:?}"),
        };
        let states: Vec<String> = block
            .opaque
            .iter()
            .map(|state| format!("{}={}", state.kind, state.json))
            .collect();
        format!("{said} {}", states.join(" ")).trim_end().to_owned()
    };
    reply.message.blocks.iter().map(block).collect()
}

fn created() -> Value {
    json!({ "type": "response.created", "response": { "id": "resp_1", "model": "m", "output": [] } })
}

fn completed(output: &Value) -> Value {
    json!({ "type": "response.completed", "response": { "id": "resp_1", "status": "completed", "model": "m", "output": output } })
}

fn added(index: i64, item: &Value) -> Value {
    json!({ "type": "response.output_item.added", "output_index": index, "item": item })
}

fn done(index: i64, item: &Value) -> Value {
    json!({ "type": "response.output_item.done", "output_index": index, "item": item })
}

fn call(id: &str, call_id: &str, arguments: &str) -> Value {
    json!({ "type": "function_call", "id": id, "call_id": call_id, "name": "get_time", "arguments": arguments, "status": "completed" })
}

fn arguments(index: i64, id: &str, piece: &str) -> Value {
    json!({ "type": "response.function_call_arguments.delta", "output_index": index, "item_id": id, "delta": piece })
}

fn message(id: &str, text: &str) -> Value {
    json!({ "type": "message", "id": id, "role": "assistant", "status": "completed", "content": [{ "type": "output_text", "text": text, "annotations": [] }] })
}

#[test]
fn what_a_response_that_failed_has_used_is_known() {
    let mut decoder = Decoder::new(owner());
    decoder.push(None, &created().to_string()).expect("sound");
    assert_eq!(decoder.usage(), None);
    let failed = json!({ "type": "response.failed", "response": {
        "status": "failed", "error": { "code": "server_error", "message": "no" },
        "usage": { "input_tokens": 12, "output_tokens": 3 },
    } });
    assert!(decoder.push(None, &failed.to_string()).is_err());
    let used = Usage {
        input: 12,
        output: 3,
        ..Usage::default()
    };
    assert_eq!(decoder.usage(), Some(used));
}

#[test]
fn arguments_come_once_wherever_they_come() {
    let start = call("fc_1", "call_a", "");
    let full = call("fc_1", "call_a", "{\"tz\":\"UTC\"}");
    let finished = json!({ "type": "response.function_call_arguments.done", "output_index": 0, "item_id": "fc_1", "arguments": "{\"tz\":\"UTC\"}" });
    let pieces = [
        arguments(0, "fc_1", "{\"tz\":"),
        arguments(0, "fc_1", "\"UTC\"}"),
    ];
    let ways: Vec<Vec<Value>> = vec![
        vec![
            added(0, &start),
            pieces[0].clone(),
            pieces[1].clone(),
            finished.clone(),
            done(0, &full),
        ],
        vec![added(0, &start), finished.clone(), done(0, &full)],
        vec![added(0, &start), done(0, &full)],
        vec![done(0, &full)],
        vec![pieces[0].clone(), pieces[1].clone(), done(0, &full)],
        vec![
            added(0, &start),
            pieces[0].clone(),
            finished,
            done(0, &full),
        ],
        vec![added(0, &start), pieces[0].clone(), done(0, &full)],
        vec![added(0, &start), pieces[0].clone(), pieces[1].clone()],
        vec![added(0, &start), done(0, &full), pieces[0].clone()],
        vec![],
    ];
    let expected = whole(&json!([full]));
    for way in ways {
        let mut events = vec![created()];
        events.extend(way);
        events.push(completed(&json!([full])));
        let streamed = reply(&events);
        assert_eq!(streamed, expected, "{events:#?}");
        assert_eq!(streamed.end.finish, FinishReason::ToolCalls);
    }
}

/// Some servers tell them there and nowhere else, and neither in pieces nor in the item.
#[test]
fn arguments_that_only_their_own_end_tells_are_told() {
    let json = call("fc_1", "call_a", "");
    let text = json!({ "type": "custom_tool_call", "id": "ctc_1", "call_id": "call_b", "name": "note", "input": "" });
    let events = [
        created(),
        added(0, &json),
        json!({ "type": "response.function_call_arguments.done", "output_index": 0, "item_id": "fc_1", "arguments": "{\"tz\":\"UTC\"}" }),
        done(0, &json),
        added(1, &text),
        json!({ "type": "response.custom_tool_call_input.done", "output_index": 1, "item_id": "ctc_1", "input": "say hi" }),
        done(1, &text),
        completed(&json!([json, text])),
    ];
    let told = outline(&reply(&events));
    assert!(
        told[0].starts_with("call get_time call_a {\"tz\":\"UTC\"}"),
        "{told:?}"
    );
    assert!(
        told[1].starts_with("text call note call_b say hi"),
        "{told:?}"
    );
}

/// Some servers give no ids to pieces, and mix those of calls that run at once.
#[test]
fn pieces_without_an_id_go_by_their_place() {
    let piece = |index: i64, text: &str| json!({ "type": "response.function_call_arguments.delta", "output_index": index, "delta": text });
    let calls = [call("fc_1", "call_a", ""), call("fc_2", "call_b", "")];
    let events = [
        created(),
        added(0, &calls[0]),
        added(1, &calls[1]),
        piece(0, "{\"tz\":"),
        piece(1, "{\"tz\":"),
        piece(0, "\"UTC\"}"),
        piece(1, "\"CET\"}"),
        done(0, &calls[0]),
        done(1, &calls[1]),
        completed(&json!(calls)),
    ];
    let told = outline(&reply(&events));
    assert!(
        told[0].starts_with("call get_time call_a {\"tz\":\"UTC\"}"),
        "{told:?}"
    );
    assert!(
        told[1].starts_with("call get_time call_b {\"tz\":\"CET\"}"),
        "{told:?}"
    );
}

#[test]
fn words_that_only_their_own_end_tells_are_told() {
    let blank = json!({ "type": "message", "id": "msg_1", "role": "assistant", "content": [] });
    let events = [
        created(),
        added(0, &blank),
        json!({ "type": "response.output_text.done", "output_index": 0, "item_id": "msg_1", "content_index": 0, "text": "Hello!" }),
        done(0, &blank),
        completed(&json!([])),
    ];
    let told = outline(&reply(&events));
    assert!(told[0].starts_with("text Hello!"), "{told:?}");
}

#[test]
fn calls_that_share_a_place_or_have_none_stay_apart() {
    let calls = [
        call("fc_1", "call_a", "{\"n\":1}"),
        call("fc_2", "call_b", "{\"n\":2}"),
    ];
    let starts = [call("fc_1", "call_a", ""), call("fc_2", "call_b", "")];
    let expected = outline(&whole(&json!(calls)));
    for index in [Some(0), Some(-1), None] {
        let mut events = vec![
            added(0, &starts[0]),
            added(0, &starts[1]),
            arguments(0, "fc_1", "{\"n\""),
            arguments(0, "fc_2", "{\"n\":2}"),
            arguments(0, "fc_1", ":1}"),
            done(0, &calls[1]),
            done(0, &calls[0]),
            completed(&json!(calls)),
        ];
        for event in &mut events {
            let fields = event.as_object_mut().expect("an object");
            if fields.contains_key("output_index") {
                fields.insert("output_index".to_owned(), json!(index));
            }
        }
        assert_eq!(outline(&reply(&events)), expected, "{index:?}");
    }
}

#[test]
fn items_told_only_at_the_end_are_told() {
    let output = json!([
        { "type": "reasoning", "id": "rs_1", "summary": [{ "type": "summary_text", "text": "hm" }], "encrypted_content": "ZQ==" },
        message("msg_1", "Hello"),
        call("fc_1", "call_a", "{}"),
        { "type": "web_search_call", "id": "ws_1", "status": "completed" },
    ]);
    let told = reply(&[created(), completed(&output)]);
    assert_eq!(told, whole(&output));
    insta::assert_snapshot!(outline(&told).join("\n"));
}

#[test]
fn deltas_without_anything_around_them_are_a_message() {
    let told = reply(&[
        json!({ "type": "response.output_text.delta", "delta": "Hel" }),
        json!({ "type": "response.output_text.delta", "delta": "lo" }),
        completed(&json!([])),
    ]);
    assert_eq!(told.message.to_text(), "Hello");
    assert_eq!(told.end.finish, FinishReason::Stop);
}

#[test]
fn items_that_come_among_each_other_keep_their_order() {
    let search = json!({ "type": "web_search_call", "id": "ws_1", "status": "completed" });
    let expected = ["opaque web_search_call", "text Hello [0]"];
    let told = reply(&[
        added(
            0,
            &json!({ "type": "web_search_call", "id": "ws_1", "status": "in_progress" }),
        ),
        added(
            1,
            &json!({ "type": "message", "id": "msg_1", "role": "assistant", "content": [] }),
        ),
        json!({ "type": "response.output_text.delta", "output_index": 1, "item_id": "msg_1", "content_index": 0, "delta": "Hello" }),
        done(1, &message("msg_1", "Hello")),
        done(0, &search),
        completed(&json!([search, message("msg_1", "Hello")])),
    ]);
    let outline = outline(&told);
    assert!(
        outline
            .iter()
            .zip(expected)
            .all(|(told, expected)| told.starts_with(expected)),
        "{outline:?}"
    );
    assert_eq!(outline.len(), 2);
}

#[test]
fn encrypted_reasoning_is_that_of_the_end() {
    let begun =
        json!({ "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "half" });
    let ended = json!({ "type": "reasoning", "id": "rs_1", "summary": [{ "type": "summary_text", "text": "one" }, { "type": "summary_text", "text": "two" }], "encrypted_content": "whole" });
    let summary = |n: i64, text: &str| json!({ "type": "response.reasoning_summary_text.delta", "output_index": 0, "item_id": "rs_1", "summary_index": n, "delta": text });
    let told = reply(&[
        added(0, &begun),
        summary(0, "o"),
        summary(0, "ne"),
        summary(1, "two"),
        done(0, &ended),
        completed(&json!([ended])),
    ]);
    assert_eq!(told, whole(&json!([ended])));
    let Content::Thinking(thinking) = &told.message.blocks[0].content else {
        panic!("thinking");
    };
    assert_eq!(&*thinking.text, "one\n\ntwo");
    assert_eq!(told.message.blocks[0].opaque[0].json, ended);
}

#[test]
fn ends_are_told_for_what_they_are() {
    let ended = |kind: &str, response: Value| {
        let event = json!({ "type": kind, "response": response });
        read(&[created(), event]).map(|(_, end)| end.finish)
    };
    let incomplete = |reason: &str| json!({ "status": "incomplete", "incomplete_details": { "reason": reason } });
    assert_eq!(
        ended("response.incomplete", incomplete("max_output_tokens")),
        Ok(FinishReason::Length)
    );
    assert_eq!(
        ended("response.incomplete", incomplete("content_filter")),
        Ok(FinishReason::ContentFilter)
    );
    assert_eq!(
        ended("response.incomplete", incomplete("steered")),
        Ok(FinishReason::Unrecognized("steered".into()))
    );
    assert_eq!(
        ended("response.completed", json!({})),
        Ok(FinishReason::Stop)
    );
    let refusal = json!({ "output": [{ "type": "message", "content": [{ "type": "refusal", "refusal": "No." }] }] });
    assert_eq!(
        ended("response.completed", refusal),
        Ok(FinishReason::Refused)
    );
    let failed = json!({ "status": "failed", "error": { "code": "rate_limit_exceeded", "message": "slow down" } });
    match ended("response.failed", failed) {
        Err(DecodeError::Failed(failure)) => {
            assert_eq!(failure.kind, ModelFailureKind::RateLimited);
        }
        other => panic!("{other:?}"),
    }
    let cut = read(&[created(), added(0, &call("fc_1", "call_a", ""))]);
    assert_eq!(
        cut,
        Err(DecodeError::Truncated {
            phase: Phase::MidReply
        })
    );
}

#[test]
fn errors_come_in_either_form_and_whatever_they_are_called() {
    let flat = json!({ "type": "error", "code": "server_error", "message": "oh", "param": null });
    let nested = json!({ "type": "error", "error": { "code": "server_error", "message": "oh" } });
    let bare = json!({ "error": { "code": "server_error", "message": "oh" } });
    for error in [flat, nested, bare] {
        match read(&[created(), error.clone()]) {
            Err(DecodeError::Failed(failure)) => {
                assert_eq!(failure.kind, ModelFailureKind::ServerError, "{error}");
                assert!(failure.message.contains("oh"), "{}", failure.message);
            }
            other => panic!("{error}: {other:?}"),
        }
    }
}

#[test]
fn a_summary_is_passed_on_as_it_comes_and_said_once() {
    let ended = json!({
        "type": "reasoning", "id": "rs_1", "encrypted_content": "ZQ==", "status": "completed",
        "summary": [{ "type": "summary_text", "text": "one" }, { "type": "summary_text", "text": "two" }],
    });
    let begun =
        json!({ "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "Z" });
    let summary = |n: i64, text: &str| json!({ "type": "response.reasoning_summary_text.delta", "output_index": 0, "item_id": "rs_1", "summary_index": n, "delta": text });
    let sent = [
        created(),
        added(0, &begun),
        summary(0, "o"),
        summary(0, "ne"),
        summary(1, "two"),
        done(0, &ended),
        completed(&json!([ended])),
    ];
    let mut decoder = Decoder::new(owner());
    let mut encoder = Encoder::new(&about());
    let mut passed = Vec::new();
    let mut at_once = Vec::new();
    for event in &sent {
        let deltas = decoder.push(None, &event.to_string()).expect("sound");
        let events: Vec<SseEvent> = deltas
            .iter()
            .flat_map(|delta| encoder.push(delta))
            .collect();
        at_once.push(
            events
                .iter()
                .map(|event| event.data.clone())
                .collect::<String>(),
        );
        passed.extend(events);
    }
    passed.extend(encoder.finish(&decoder.finish().expect("whole")));
    // The first character goes out with the event that it came in, a word when the next one begins.
    for (n, words) in [(2, "\"o\""), (4, "\"ne\""), (5, "\"\\n\\ntwo\"")] {
        let events = at_once[n].replace("\\n", "\n");
        assert!(
            events.contains(&words.replace("\\n", "\n")),
            "{n}: {at_once:#?}"
        );
    }
    let passed: Vec<Value> = passed
        .iter()
        .map(|event| serde_json::from_str(&event.data).expect("JSON"))
        .collect();
    let ids = passed
        .iter()
        .filter_map(|event| event.get("item_id").or_else(|| event.pointer("/item/id")));
    assert_eq!(ids.filter(|id| **id != json!("rs_1")).count(), 0);
    let last = passed.last().expect("an end");
    assert_eq!(last["response"]["output"], json!([ended]));
    // And whoever reads that reads what was there at first.
    assert_eq!(outline(&reply(&passed)), outline(&reply(&sent)));
}

#[test]
fn reasoning_in_another_dialect_is_passed_on_as_it_comes() {
    let start = Delta::BlockStarted {
        index: 0,
        start: BlockStart::Thinking { redacted: false },
    };
    let piece = Delta::TextAppended {
        index: 0,
        text: "Hm".into(),
    };
    let told = |encoder: &mut Encoder, delta: &Delta| -> String {
        encoder
            .push(delta)
            .iter()
            .map(|event| event.data.clone())
            .collect()
    };
    for (dialect, at_once) in [("claude", true), ("openai-responses", false)] {
        let mut encoder = Encoder::new(&ReplyInfo {
            dialect: Some(dialect.into()),
            ..about()
        });
        told(&mut encoder, &start);
        assert_eq!(
            told(&mut encoder, &piece).contains("\"H\""),
            at_once,
            "{dialect}"
        );
        let end = told(&mut encoder, &Delta::BlockEnded { index: 0 });
        assert!(end.contains("output_item.done"), "{end}");
        assert_eq!(end.contains("output_item.added"), !at_once, "{end}");
    }
}

#[test]
fn reasoning_that_never_ended_keeps_its_name_and_is_no_item() {
    let told = reply(&[
        created(),
        added(
            0,
            &json!({ "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "half" }),
        ),
        completed(&json!([])),
    ]);
    assert_eq!(
        outline(&told),
        ["thinking  reasoning_item={\"id\":\"rs_1\"}"]
    );
}
