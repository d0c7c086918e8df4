//! Streams as servers really send them, sound and unsound.

use jackfield_dialect_openai::chat::stream::{DecodeError, DecodeReply as _, Decoder};
use jackfield_domain::failure::{ModelFailureKind, Phase, RetryAdvice};
use jackfield_domain::reply::FinishReason;
use jackfield_domain::usage::Usage;
use serde_json::{Value, json};

use super::read::{accumulated, calls, chunk, owner, prose, read, reply_of};

/// Checks what the pieces of calls come to.
#[track_caller]
fn check(pieces: &[Value], expected: &[&str]) {
    let deltas: Vec<Value> = pieces
        .iter()
        .map(|piece| json!({ "tool_calls": piece }))
        .collect();
    let reply = reply_of(&deltas, json!("tool_calls")).expect("a whole reply");
    assert_eq!(calls(&reply), expected);
}

fn piece(index: Value, id: Value, name: Value, arguments: Value) -> Value {
    json!([{ "index": index, "id": id, "function": { "name": name, "arguments": arguments } }])
}

const NO: Value = Value::Null;

#[test]
fn arguments_come_in_pieces_of_any_kind() {
    check(
        &[
            piece(json!(0), json!("call_a"), json!("f"), json!("")),
            piece(json!(0), NO, NO, json!("{\"a\"")),
            piece(json!(0), NO, NO, json!(":1}")),
        ],
        &["call_a f {\"a\":1}"],
    );
    // Whole in one piece: Ollama, Groq, xAI.
    check(
        &[piece(json!(0), json!("c"), json!("f"), json!("{\"a\":1}"))],
        &["c f {\"a\":1}"],
    );
    // An object: Ollama's own form, Mistral.
    check(
        &[piece(json!(0), json!("c"), json!("f"), json!({ "a": 1 }))],
        &["c f {\"a\":1}"],
    );
    for nothing in [
        json!(""),
        NO,
        json!("null"),
        json!("{}"),
        json!("  "),
        json!("\"\""),
    ] {
        check(
            &[piece(json!(0), json!("c"), json!("f"), nothing)],
            &["c f {}"],
        );
    }
    check(
        &[piece(
            json!(0),
            json!("c"),
            json!("f"),
            json!("\"{\\\"a\\\":1}\""),
        )],
        &["c f {\"a\":1}"],
    );
}

#[test]
fn arguments_that_repeat_what_came_before_count_once() {
    let growing = ["{", "{\"a\"", "{\"a\":{", "{\"a\":{\"b\":1}}"];
    let pieces: Vec<Value> = growing
        .iter()
        .map(|text| piece(json!(0), json!("c"), json!("f"), json!(text)))
        .collect();
    check(&pieces, &["c f {\"a\":{\"b\":1}}"]);
    check(
        &[
            piece(json!(0), json!("c"), json!("f"), json!("{\"tz\":\"Eu")),
            piece(json!(0), NO, NO, json!("{\"tz\":\"Europe\"}")),
        ],
        &["c f {\"tz\":\"Europe\"}"],
    );
    // Nothing repeats here: one object is in the other.
    check(
        &[
            piece(json!(0), json!("c"), json!("f"), json!("{\"a\":")),
            piece(json!(0), NO, NO, json!("{\"a\":1}")),
            piece(json!(0), NO, NO, json!("}")),
        ],
        &["c f {\"a\":{\"a\":1}}"],
    );
}

#[test]
fn what_was_cut_off_is_never_made_whole() {
    // What came last is an object, and what came together is not: but only because its end is missing.
    check(
        &[
            piece(json!(0), json!("c"), json!("f"), json!("{\"a\":")),
            piece(json!(0), NO, NO, json!("{\"a\":1}")),
        ],
        &["c f broken {\"a\":{\"a\":1}"],
    );
    let cut = [
        json!({ "tool_calls": [{ "index": 0, "id": "c", "function": { "name": "f", "arguments": "{\"a\": [1, " } }] }),
    ];
    for reason in ["tool_calls", "stop", "length"] {
        let reply = reply_of(&cut, json!(reason)).expect("a whole reply");
        assert_eq!(calls(&reply), ["c f broken {\"a\": [1, "]);
        let cut_off = reply.end.finish == FinishReason::Length;
        assert_eq!(cut_off, reason == "length");
    }
}

#[test]
fn wrapping_of_templates_is_taken_off_with_a_note() {
    for wrapped in [
        "{\"a\":1}</tool_call>",
        "{\"a\":1}\n```",
        "```json\n{\"a\":1}\n```",
        "\"{\\\"a\\\":1}\"",
    ] {
        let deltas =
            [json!({ "tool_calls": piece(json!(0), json!("c"), json!("f"), json!(wrapped)) })];
        let reply = reply_of(&deltas, json!("tool_calls")).expect("a whole reply");
        assert_eq!(calls(&reply), ["c f {\"a\":1}"], "{wrapped}");
        let paths: Vec<&str> = reply
            .end
            .notes
            .iter()
            .map(|note| note.path.as_str())
            .collect();
        assert_eq!(paths, ["blocks[0].input"], "{wrapped}");
    }
    // Anything else stays malformed, for the model to mend.
    check(
        &[piece(json!(0), json!("c"), json!("f"), json!("{\"a\":1}}"))],
        &["c f broken {\"a\":1}}"],
    );
    check(
        &[piece(json!(0), json!("c"), json!("f"), json!("{'a': 1}"))],
        &["c f broken {'a': 1}"],
    );
}

#[test]
fn ids_that_tell_nothing_apart_are_not_kept() {
    for id in [NO, json!(""), json!("null"), json!(7)] {
        check(&[piece(json!(0), id, json!("f"), json!("{}"))], &["- f {}"]);
    }
    // The same id for all: the first one may have it.
    check(
        &[
            piece(json!(0), json!("same"), json!("f"), json!("{}")),
            piece(json!(1), json!("same"), json!("g"), json!("{}")),
        ],
        &["same f {}", "- g {}"],
    );
    let long = "x".repeat(300);
    check(
        &[piece(json!(0), json!(long), json!("f"), json!("{}"))],
        &["- f {}"],
    );
    // Kimi's have a form of their own, and go back as they came.
    check(
        &[piece(
            json!(0),
            json!("functions.f:0"),
            json!("f"),
            json!("{}"),
        )],
        &["functions.f:0 f {}"],
    );
}

#[test]
fn names_come_once_again_and_again_late_or_in_pieces() {
    check(
        &[
            piece(json!(0), json!("c"), json!("f"), json!("{\"a\"")),
            piece(json!(0), json!("c"), json!("f"), json!(":1}")),
            piece(json!(0), json!("c"), json!("f"), json!("")),
        ],
        &["c f {\"a\":1}"],
    );
    // vLLM was seen to lose it until the end.
    check(
        &[
            piece(json!(0), json!("c"), NO, json!("{\"a\"")),
            piece(json!(0), NO, json!(""), json!(":1}")),
            piece(json!(0), NO, json!("f"), json!("")),
        ],
        &["c f {\"a\":1}"],
    );
    check(
        &[
            piece(json!(0), json!("c"), json!("get_"), json!("")),
            piece(json!(0), NO, json!("time"), json!("")),
            piece(json!(0), NO, NO, json!("{}")),
        ],
        &["c get_time {}"],
    );
}

#[test]
fn a_call_without_a_name_is_refused() {
    let deltas = [json!({ "tool_calls": piece(json!(0), json!("c"), NO, json!("{}")) })];
    let fault = reply_of(&deltas, json!("tool_calls")).expect_err("no name");
    assert!(matches!(fault, DecodeError::Violation { .. }), "{fault}");
}

#[test]
fn content_comes_as_text_or_in_parts() {
    let deltas = [
        json!({ "role": "assistant", "content": null }),
        json!({ "role": "assistant", "content": [
            { "type": "thinking", "thinking": [{ "type": "text", "text": "hm" }] },
            { "type": "text", "text": "one " },
        ] }),
        json!({ "content": [{ "type": "reference", "reference_ids": [1] }, { "type": "text", "text": "two" }] }),
    ];
    let reply = reply_of(&deltas, json!("stop")).expect("a whole reply");
    assert_eq!(prose(&reply), ["thinking hm in nothing", "text one two"]);
}

#[test]
fn reasoning_is_known_by_any_of_its_names() {
    for field in ["reasoning_content", "reasoning", "thinking"] {
        let deltas = [
            json!({ "role": "assistant", "content": "", field: "" }),
            json!({ field: "let me " }),
            json!({ field: "see", "content": null }),
            json!({ "content": "\n\n" }),
            json!({ "content": "Yes." }),
        ];
        let reply = reply_of(&deltas, json!("stop")).expect("a whole reply");
        let thinking = format!("thinking let me see in {field}");
        assert_eq!(prose(&reply), [thinking.as_str(), "text \n\nYes."]);
    }
}

#[test]
fn reasoning_in_parts_is_kept_whole() {
    let deltas = [
        json!({ "reasoning": "a", "reasoning_details": [{ "type": "reasoning.text", "index": 0, "text": "a" }] }),
        json!({ "reasoning": "b", "reasoning_details": [{ "type": "reasoning.text", "index": 0, "text": "b" }] }),
        json!({ "reasoning_details": [{ "type": "reasoning.text", "index": 0, "signature": "s" }] }),
        json!({ "reasoning_details": [{ "type": "reasoning.encrypted", "index": 1, "data": "x" }] }),
        json!({ "content": "Yes." }),
    ];
    let reply = reply_of(&deltas, json!("stop")).expect("a whole reply");
    assert_eq!(prose(&reply), ["thinking ab in reasoning", "text Yes."]);
    let states: Vec<&Value> = reply
        .message
        .opaque
        .iter()
        .map(|state| &state.json)
        .collect();
    let details = json!([
        { "type": "reasoning.text", "index": 0, "text": "ab", "signature": "s" },
        { "type": "reasoning.encrypted", "index": 1, "data": "x" },
    ]);
    assert_eq!(states, [&details]);
}

#[test]
fn blanks_before_a_call_are_nothing() {
    let deltas = [
        json!({ "reasoning_content": "hm" }),
        json!({ "content": "\n\n" }),
        json!({ "tool_calls": piece(json!(0), json!("c"), json!("f"), json!("{}")) }),
    ];
    let reply = reply_of(&deltas, json!("tool_calls")).expect("a whole reply");
    assert_eq!(prose(&reply), ["thinking hm in reasoning_content"]);
    assert_eq!(reply.message.blocks.len(), 2);
}

#[test]
fn the_end_is_decided_by_what_came() {
    let call = [json!({ "tool_calls": piece(json!(0), json!("c"), json!("f"), json!("{}")) })];
    for reason in [
        json!("stop"),
        json!(""),
        json!("eos"),
        json!("function_call"),
        NO,
        json!("null"),
    ] {
        let reply = reply_of(&call, reason).expect("a whole reply");
        assert_eq!(reply.end.finish, FinishReason::ToolCalls);
    }
    // vLLM, without a parser of its own.
    let none = [
        json!({ "content": "hi", "tool_calls": [] }),
        json!({ "tool_calls": null }),
    ];
    let refusal = [json!({ "refusal": "No." })];
    for (deltas, reason, finish) in [
        (&none[..], "tool_calls", FinishReason::Stop),
        (&none[..], "eos_token", FinishReason::Stop),
        (&none[..], "length", FinishReason::Length),
        (&none[..], "model_length", FinishReason::ContextFull),
        (&none[..], "content_filter", FinishReason::ContentFilter),
        (&none[..], "odd", FinishReason::Unrecognized("odd".into())),
        (&call[..], "content_filter", FinishReason::ContentFilter),
        (&refusal[..], "stop", FinishReason::Refused),
    ] {
        let reply = reply_of(deltas, json!(reason)).expect("a whole reply");
        assert_eq!(reply.end.finish, finish, "{reason}");
    }
}

#[test]
fn a_stream_ends_with_a_reason_or_with_its_mark() {
    let said = chunk(&json!({ "content": "hi" }), &NO);
    let stopped = chunk(&json!({}), &json!("stop"));
    let whole = |events: &[&str]| read(Decoder::new(owner()), events.iter().copied());
    assert!(whole(&[&said, &stopped]).is_ok(), "no mark");
    assert!(whole(&[&said, "[DONE]", "anything"]).is_ok(), "no reason");
    let phase = Phase::MidReply;
    assert_eq!(whole(&[&said]), Err(DecodeError::Truncated { phase }));
    let phase = Phase::BeforeFirstDelta;
    assert_eq!(whole(&[]), Err(DecodeError::Truncated { phase }));
}

#[test]
fn usage_is_found_wherever_it_stands_and_the_last_one_counts() {
    let stopped = chunk(&json!({ "content": "hi" }), &json!("stop"));
    let early = json!({ "choices": [], "usage": { "prompt_tokens": 5, "completion_tokens": 1 } });
    let full = json!({ "choices": [], "usage": {
        "prompt_tokens": 10,
        "completion_tokens": 7,
        "prompt_tokens_details": { "cached_tokens": 4, "cache_write_tokens": 2 },
        "completion_tokens_details": { "reasoning_tokens": 3 },
    } });
    let groq = json!({ "x_groq": { "usage": { "prompt_tokens": 10, "completion_tokens": 7 } } });
    let deepseek = json!({ "usage": { "prompt_tokens": 10, "completion_tokens": 7, "prompt_cache_hit_tokens": 4 } });
    let nested = json!({ "choices": [{ "index": 0, "usage": { "prompt_tokens": 10, "completion_tokens": 7, "cached_tokens": 4 } }] });
    let plain = Usage {
        input: 10,
        output: 7,
        ..Usage::default()
    };
    let cached = Usage {
        cache_read: 4,
        ..plain
    };
    let detailed = Usage {
        cache_write: 2,
        reasoning: 3,
        ..cached
    };
    for (event, expected) in [
        (full, detailed),
        (groq, plain),
        (deepseek, cached),
        (nested, cached),
    ] {
        let events = [
            early.to_string(),
            stopped.clone(),
            event.to_string(),
            "[DONE]".to_owned(),
        ];
        let (_, end) =
            read(Decoder::new(owner()), events.iter().map(String::as_str)).expect("a whole reply");
        assert_eq!(end.usage, Some(expected), "{event}");
    }
}

#[test]
fn errors_in_a_stream_are_told_as_failures() {
    let said = chunk(&json!({ "content": "hi" }), &NO);
    for error in [
        json!({ "error": { "message": "busy", "type": "server_error", "code": "server_is_overloaded" } }),
        json!({ "error": { "message": "busy", "code": 503 } }),
        json!({ "object": "error", "message": "busy", "code": 503 }),
        json!([{ "error": { "message": "busy", "code": 503 } }]),
        json!({ "choices": [{ "index": 0, "delta": {}, "error": { "message": "busy", "code": 503 } }] }),
        json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "error" }] }),
        json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "insufficient_system_resource" }] }),
    ] {
        let error = error.to_string();
        // Those that say so are overloaded; all others are broken.
        let is_overload = error.contains("overloaded") || error.contains("resource");
        let kind = if is_overload {
            ModelFailureKind::Overloaded
        } else {
            ModelFailureKind::ServerError
        };
        let first = read(Decoder::new(owner()), [error.as_str()]).expect_err("an error");
        let later = read(Decoder::new(owner()), [said.as_str(), &error]).expect_err("an error");
        for (fault, phase) in [(first, Phase::BeforeFirstDelta), (later, Phase::MidReply)] {
            let failure = fault.failure();
            assert_eq!(failure.kind, kind, "{error}");
            assert_eq!(failure.advice, RetryAdvice::Backoff, "{error}");
            assert_eq!(failure.phase, phase, "{error}");
        }
    }
}

#[test]
fn an_event_that_is_called_an_error_is_one_whatever_its_form() {
    for error in [
        json!({ "message": "busy", "code": 503 }),
        json!({ "detail": "busy", "code": 503 }),
        json!({ "error": { "message": "busy", "code": 503 } }),
    ] {
        let mut decoder = Decoder::new(owner());
        let fault = decoder.push(Some("error"), &error.to_string());
        let failure = fault.expect_err("an error").failure();
        assert_eq!(failure.kind, ModelFailureKind::ServerError, "{error}");
    }
}

#[test]
fn an_error_with_status_200_is_no_reply() {
    for body in [
        json!({ "error": { "message": "busy", "code": 503 } }),
        json!({ "object": "error", "message": "busy", "code": 503 }),
    ] {
        let decoder = Decoder::new(owner());
        let fault = decoder.read_whole(body.to_string().as_bytes());
        let failure = fault.expect_err("an error").failure();
        assert_eq!(failure.kind, ModelFailureKind::ServerError, "{body}");
    }
}

#[test]
fn what_is_no_chunk_breaks_the_rules() {
    for broken in [
        "{",
        "7",
        "{\"choices\":{}}",
        "{\"choices\":[{\"delta\":\"text\"}]}",
        "{\"choices\":[{\"delta\":{\"content\":7}}]}",
        "{\"choices\":[{\"delta\":{\"tool_calls\":{}}}]}",
        "{\"choices\":[{\"delta\":{\"tool_calls\":[7]}}]}",
    ] {
        let fault = read(Decoder::new(owner()), [broken]).expect_err("no chunk");
        assert!(matches!(fault, DecodeError::Violation { .. }), "{broken}");
    }
    let mut decoder = Decoder::new(owner());
    let ignored = decoder.push(Some("ping"), "not JSON");
    assert_eq!(ignored, Ok(Vec::new()));
}

#[test]
fn other_answers_are_not_mixed_in() {
    let both = json!({ "choices": [
        { "index": 1, "delta": { "content": "no" }, "finish_reason": null },
        { "index": 0, "delta": { "content": "yes" }, "finish_reason": null },
        { "delta": null, "finish_reason": "stop" },
    ] });
    let (deltas, end) = read(Decoder::new(owner()), [both.to_string().as_str()]).expect("a reply");
    assert_eq!(prose(&accumulated(&deltas, end)), ["text yes"]);
}

#[test]
fn what_is_held_back_has_a_limit() {
    let mut decoder = Decoder::new(owner());
    let long = "x".repeat(1 << 20);
    let held = chunk(
        &json!({ "tool_calls": [{ "index": 0, "function": { "arguments": long } }] }),
        &NO,
    );
    let refused = (0..20).any(|_| decoder.push(None, &held).is_err());
    assert!(refused, "twenty mebibytes are held back");
    let mut decoder = Decoder::new(owner());
    let refused = (0..2000).any(|index| {
        let begun = chunk(&json!({ "tool_calls": [{ "index": index }] }), &NO);
        decoder.push(None, &begun).is_err()
    });
    assert!(refused, "two thousand calls are open");
}

#[test]
fn an_end_alone_is_no_reply() {
    for events in [
        vec!["[DONE]"],
        vec!["{\"id\":\"c\",\"usage\":{\"prompt_tokens\":1}}", "[DONE]"],
        vec!["{\"choices\":[]}", "[DONE]"],
    ] {
        let told = read(Decoder::new(owner()), events.iter().copied());
        let error = told.expect_err("nothing was said").failure();
        assert_eq!(error.kind, ModelFailureKind::Interrupted, "{events:?}");
        assert_eq!(error.phase, Phase::BeforeFirstDelta);
    }
}
