//! Errors of the vendor's and of servers like it, and what is made of them.

use std::time::Duration;

use jackfield_dialect_openai::error::{self, ErrorDetail};
use jackfield_domain::failure::{ModelFailure, ModelFailureKind as Kind, Phase, RetryAdvice};
use jackfield_testkit::arb as kit;
use proptest::prelude::*;
use serde_json::{Value, json};

fn classified(status: u16, headers: &[(&str, &'static str)], body: &Value) -> ModelFailure {
    let header = |name: &str| {
        let mut headers = headers.iter();
        headers.find(|(known, _)| *known == name).map(|(_, v)| *v)
    };
    let body = body.to_string();
    error::classify(status, header, body.as_bytes(), Phase::BeforeFirstDelta)
}

const TOO_LONG: Kind = Kind::ContextTooLong {
    limit: None,
    requested: None,
};

#[test]
fn every_documented_error_has_its_kind_and_advice() {
    let invalid = "invalid_request_error";
    let cases: &[(u16, &str, Option<&str>, Kind, RetryAdvice)] = &[
        (400, invalid, None, Kind::InvalidRequest, RetryAdvice::Never),
        (
            400,
            invalid,
            Some("context_length_exceeded"),
            TOO_LONG,
            RetryAdvice::Never,
        ),
        (
            400,
            invalid,
            Some("unsupported_parameter"),
            Kind::InvalidRequest,
            RetryAdvice::Never,
        ),
        (
            401,
            invalid,
            Some("invalid_api_key"),
            Kind::Unauthenticated,
            RetryAdvice::Never,
        ),
        (
            403,
            "request_forbidden",
            Some("unsupported_country_region_territory"),
            Kind::Forbidden,
            RetryAdvice::Never,
        ),
        (
            404,
            invalid,
            Some("model_not_found"),
            Kind::ModelNotFound,
            RetryAdvice::Never,
        ),
        (408, "", None, Kind::Timeout, RetryAdvice::Backoff),
        (
            409,
            "conflict",
            None,
            Kind::ServerError,
            RetryAdvice::Backoff,
        ),
        (413, "", None, Kind::TooLarge, RetryAdvice::Never),
        (422, "", None, Kind::InvalidRequest, RetryAdvice::Never),
        (
            429,
            "tokens",
            Some("rate_limit_exceeded"),
            Kind::RateLimited,
            RetryAdvice::Backoff,
        ),
        (
            429,
            "requests",
            None,
            Kind::RateLimited,
            RetryAdvice::Backoff,
        ),
        (
            429,
            "insufficient_quota",
            Some("insufficient_quota"),
            Kind::Forbidden,
            RetryAdvice::Never,
        ),
        (
            500,
            "server_error",
            None,
            Kind::ServerError,
            RetryAdvice::Backoff,
        ),
        (
            503,
            "server_error",
            None,
            Kind::ServerError,
            RetryAdvice::Backoff,
        ),
        (
            529,
            "server_error",
            None,
            Kind::Overloaded,
            RetryAdvice::Backoff,
        ),
        (
            503,
            "server_error",
            Some("slow_down"),
            Kind::Overloaded,
            RetryAdvice::Backoff,
        ),
        (504, "", None, Kind::Timeout, RetryAdvice::Backoff),
        // Groq tells a limit of tokens as a body that is too large.
        (
            413,
            "tokens",
            Some("rate_limit_exceeded"),
            Kind::RateLimited,
            RetryAdvice::Backoff,
        ),
        // DeepSeek: the code says no more than that the request was refused.
        (
            402,
            "unknown_error",
            Some("invalid_request_error"),
            Kind::Forbidden,
            RetryAdvice::Never,
        ),
        (
            401,
            "authentication_error",
            Some("invalid_request_error"),
            Kind::Unauthenticated,
            RetryAdvice::Never,
        ),
    ];
    for (status, kind, code, expected, advice) in cases {
        let body =
            json!({ "error": { "message": "why", "type": kind, "param": null, "code": code } });
        let failure = classified(*status, &[], &body);
        let told = (failure.kind, failure.advice);
        assert_eq!(told, (*expected, *advice), "{status} {kind} {code:?}");
    }
}

#[test]
fn every_form_of_body_is_read() {
    let cases = [
        (
            json!({ "error": { "message": "why", "type": "t", "code": "c", "param": "p" } }),
            "why (400, t, c)",
        ),
        (
            json!({ "error": { "message": "why", "type": "t", "code": 3280 } }),
            "why (400, t, 3280)",
        ),
        (
            json!({ "error": { "message": "why", "type": "t", "code": 400 } }),
            "why (400, t)",
        ),
        (json!({ "error": "why" }), "why (400)"),
        (json!({ "error": "why", "code": 7 }), "why (400, 7)"),
        (
            json!({ "object": "error", "message": "why", "type": "t", "code": 400 }),
            "why (400, t)",
        ),
        (
            json!({ "object": "error", "message": { "detail": [{ "loc": ["body", "x"], "msg": "why" }] } }),
            "body.x: why (400)",
        ),
        (json!({ "detail": "why" }), "why (400)"),
        (
            json!({ "detail": [
            { "type": "missing", "loc": ["body", "messages", 0], "msg": "needed" },
            { "loc": ["body"], "msg": "odd" },
        ] }),
            "body.messages.0: needed; body: odd (400)",
        ),
        (json!({ "message": "why" }), "why (400)"),
        (
            json!([{ "error": { "message": "why", "code": 400, "status": "INVALID_ARGUMENT" } }]),
            "why (400)",
        ),
        (
            json!({ "error": { "message": "Provider returned error", "code": 400, "metadata": { "raw": "why" } } }),
            "Provider returned error: why (400)",
        ),
        (
            json!({ "type": "error", "error": { "type": "t", "message": "why" } }),
            "why (400, t)",
        ),
        (
            json!({ "error": null }),
            "the provider gave no reason (400)",
        ),
        (json!(7), "the provider gave no reason (400)"),
    ];
    for (body, message) in cases {
        let failure = classified(400, &[], &body);
        assert_eq!(failure.message, message, "{body}");
        assert_eq!(failure.kind, Kind::InvalidRequest, "{body}");
    }
}

#[test]
fn what_is_no_json_is_judged_by_its_status_and_not_repeated() {
    let html = |status| {
        error::classify(
            status,
            |_| None,
            b"<html>secret</html>",
            Phase::BeforeFirstDelta,
        )
    };
    assert_eq!(html(502).kind, Kind::ServerError);
    assert_eq!(html(502).message, "the provider gave no reason (502)");
    assert_eq!(html(200).kind, Kind::ProtocolViolation);
}

#[test]
fn an_error_with_status_200_is_judged_by_what_it_says() {
    let told = |error: Value| classified(200, &[], &json!({ "error": error }));
    assert_eq!(
        told(json!({ "message": "m", "code": 429 })).kind,
        Kind::RateLimited
    );
    assert_eq!(
        told(json!({ "message": "m", "type": "invalid_request_error" })).kind,
        Kind::InvalidRequest
    );
    assert_eq!(told(json!("broken")).kind, Kind::ServerError);
    assert_eq!(
        told(json!({ "message": "m", "code": 429 })).message,
        "m (429)"
    );
}

#[test]
fn the_servers_word_on_when_counts_most_but_for_money() {
    let slow =
        json!({ "error": { "message": "slow", "type": "tokens", "code": "rate_limit_exceeded" } });
    let advice = |headers: &[(&str, &'static str)]| classified(429, headers, &slow).advice;
    let after = |millis| RetryAdvice::After(Duration::from_millis(millis));
    assert_eq!(advice(&[("retry-after", "7")]), after(7000));
    assert_eq!(
        advice(&[("retry-after", "7"), ("retry-after-ms", "1500")]),
        after(1500)
    );
    assert_eq!(
        advice(&[("x-should-retry", "false"), ("retry-after", "7")]),
        RetryAdvice::Never
    );
    let poor = json!({ "error": { "message": "no", "type": "insufficient_quota", "code": null } });
    let headers = [("x-should-retry", "true"), ("retry-after", "7")];
    let failure = classified(429, &headers, &poor);
    assert_eq!(
        (failure.kind, failure.advice),
        (Kind::Forbidden, RetryAdvice::Never)
    );
    assert_eq!(
        failure.message,
        "no (429, insufficient_quota). The account is out of credit, and trying again does not help."
    );
}

#[test]
fn a_prompt_that_is_too_long_says_by_how_much_where_the_server_does() {
    let told = |status, kind: &str, code: Value, message: &str| {
        let error = json!({ "message": message, "type": kind, "code": code });
        classified(status, &[], &json!({ "error": error })).kind
    };
    let long = |limit, requested| Kind::ContextTooLong { limit, requested };
    let code = || json!("context_length_exceeded");
    let words = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.";
    assert_eq!(
        told(400, "invalid_request_error", code(), words),
        long(Some(8192), Some(9000))
    );
    let words = "Your input exceeds the context window of this model.";
    assert_eq!(told(400, "invalid_request_error", code(), words), TOO_LONG);
    // vLLM
    let words = "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4000 in the messages, 1000 in the completion).";
    assert_eq!(
        told(400, "BadRequestError", json!(400), words),
        long(Some(4096), Some(5000))
    );
    for other in [
        "This model's maximum context length is 4096 tokens and your request has 100.",
        "maximum context length is long, you requested 9",
    ] {
        assert_eq!(
            told(400, "BadRequestError", json!(400), other),
            Kind::InvalidRequest,
            "{other}"
        );
    }
    // llama.cpp
    let body = json!({ "error": { "code": 400, "message": "too long", "type": "exceed_context_size_error", "n_prompt_tokens": 9000, "n_ctx": 8192 } });
    assert_eq!(
        classified(400, &[], &body).kind,
        long(Some(8192), Some(9000))
    );
}

#[test]
fn a_server_without_a_code_says_in_words_that_a_request_is_too_long() {
    let long = |limit, requested| Kind::ContextTooLong {
        limit: Some(limit),
        requested: Some(requested),
    };
    // LM Studio
    let words = "Trying to keep the first 111490 tokens when context the overflows. However, the model is loaded with context length of only 32768 tokens, which is not enough.";
    let body = json!({ "error": words });
    assert_eq!(classified(400, &[], &body).kind, long(32_768, 111_490));
    let in_stream = error::from_detail(&ErrorDetail::from(body), Phase::MidReply);
    assert_eq!(in_stream.kind, long(32_768, 111_490));
    assert_eq!(in_stream.advice, RetryAdvice::Never);
    // OpenRouter gives back what the provider behind it said, with a status of its own.
    let words = "Input length 131393 exceeds the maximum allowed input length of 131040 tokens.";
    let body = json!({ "error": { "message": "Provider returned error", "code": 502, "metadata": { "raw": words, "provider_name": "Poolside" } } });
    for status in [200, 400, 502] {
        let failure = classified(status, &[], &body);
        assert_eq!(
            (failure.kind, failure.advice),
            (long(131_040, 131_393), RetryAdvice::Never),
            "{status}"
        );
    }
    // A limit of the account's, and a key, are not about the request's length.
    for (status, kind) in [(429, Kind::RateLimited), (401, Kind::Unauthenticated)] {
        assert_eq!(
            classified(status, &[], &json!({ "error": words })).kind,
            kind
        );
    }
}

/// Groq's answer where the model wrote a call that is none (console.groq.com/docs/tool-use, 2026-11).
#[test]
fn a_reply_that_the_server_could_not_read_may_be_asked_for_again() {
    let body = json!({ "error": {
        "message": "Failed to call a function. Please adjust your prompt.",
        "type": "invalid_request_error",
        "code": "tool_use_failed",
        "failed_generation": "<function=read{\"path\": 1",
    } });
    let failure = classified(400, &[], &body);
    assert_eq!(
        (failure.kind, failure.advice),
        (Kind::UnusableReply, RetryAdvice::Backoff)
    );
    assert_eq!(
        failure.message,
        "Failed to call a function. Please adjust your prompt. The model wrote: <function=read{\"path\": 1 \
         (400, invalid_request_error, tool_use_failed)"
    );
    let in_stream = error::from_detail(&ErrorDetail::from(body), Phase::MidReply);
    assert_eq!(in_stream.kind, Kind::UnusableReply);
}

#[test]
fn a_server_that_still_loads_its_model_is_asked_again() {
    let body = json!({ "error": { "code": 503, "message": "Loading model", "type": "unavailable_error" } });
    let failure = classified(503, &[], &body);
    assert_eq!(
        (failure.kind, failure.advice),
        (Kind::ServerError, RetryAdvice::Backoff)
    );
    assert_eq!(failure.message, "Loading model (503, unavailable_error)");
}

#[test]
fn a_refusal_that_is_known_says_the_way_out() {
    for (words, way) in [
        (
            "Function tools with reasoning_effort are not supported for gpt-5.6-sol in /v1/chat/completions.",
            "Responses dialect",
        ),
        (
            "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set",
            "Start vLLM",
        ),
        (
            "registry.example/gemma:2b does not support tools",
            "Choose a model",
        ),
        ("tools param requires --jinja flag", "Start llama-server"),
    ] {
        let failure = classified(400, &[], &json!({ "error": { "message": words } }));
        let (said, told) = failure.message.split_once(" (400). ").expect("a way out");
        assert_eq!(said, words);
        assert!(told.starts_with(way) || told.contains(way), "{told}");
    }
}

#[test]
fn what_a_server_says_is_repeated_within_bounds() {
    let long = "x".repeat(5000);
    let body = json!({ "error": { "message": long, "type": long, "code": long } });
    let failure = classified(400, &[], &body);
    assert!(failure.message.len() < 1300, "{}", failure.message.len());
    let complaints: Vec<Value> = (0..90).map(|n| json!({ "msg": format!("{n}") })).collect();
    let failure = classified(422, &[], &json!({ "detail": complaints }));
    assert_eq!(failure.message, "0; 1; 2; 3; 4 (422)");
}

#[test]
fn errors_in_streams_are_judged_by_their_names() {
    let told = |json: Value| error::from_detail(&ErrorDetail::from(json), Phase::MidReply);
    // The event of Responses, with its own type and number, and why a response failed.
    let event = json!({ "type": "error", "code": "rate_limit_exceeded", "message": "slow", "param": null, "sequence_number": 3 });
    assert_eq!(told(event.clone()).kind, Kind::RateLimited);
    assert_eq!(told(event).message, "slow (rate_limit_exceeded)");
    for (code, kind) in [
        ("server_error", Kind::ServerError),
        ("invalid_prompt", Kind::InvalidRequest),
        ("invalid_image_url", Kind::InvalidRequest),
        ("unsupported_image_media_type", Kind::InvalidRequest),
        ("vector_store_timeout", Kind::ServerError),
        ("insufficient_quota", Kind::Forbidden),
        ("server_is_overloaded", Kind::Overloaded),
        ("something_new", Kind::ServerError),
    ] {
        let failure = told(json!({ "code": code, "message": "m" }));
        assert_eq!(
            (failure.kind, failure.phase),
            (kind, Phase::MidReply),
            "{code}"
        );
    }
    // A chunk of OpenRouter's or llama.cpp's.
    assert_eq!(
        told(json!({ "code": 502, "message": "m" })).kind,
        Kind::ServerError
    );
    assert_eq!(told(json!("broken")).message, "broken");
}

#[test]
fn a_failure_is_told_in_the_vendors_form() {
    let failure = ModelFailure::new(Kind::RateLimited, Phase::BeforeSend, "slow");
    let (status, body) = error::to_wire(&failure);
    let body = serde_json::to_value(body).expect("JSON");
    let expected = json!({ "error": { "code": "rate_limit_exceeded", "type": "rate_limit_error", "message": "slow", "param": null } });
    assert_eq!((status, body), (429, expected));
}

proptest! {
    #[test]
    fn any_answer_is_classified(status: u16, body in prop_oneof![kit::json().prop_map(|json| json.to_string()), ".{0,30}".prop_map(String::from)]) {
        let failure = error::classify(status, |_| Some("x"), body.as_bytes(), Phase::MidReply);
        prop_assert_eq!(failure.phase, Phase::MidReply);
    }

    #[test]
    fn a_failure_told_to_a_client_keeps_its_kind(failure in kit::model_failure()) {
        let (status, body) = error::to_wire(&failure);
        let bytes = serde_json::to_vec(&body).expect("JSON");
        let back = error::classify(status, |_| None, &bytes, failure.phase);
        let kind = match failure.kind {
            Kind::ContextTooLong { .. } => TOO_LONG,
            Kind::ToolsUnsupported | Kind::Unsupported => Kind::InvalidRequest,
            Kind::Interrupted | Kind::ProtocolViolation | Kind::Transport | Kind::UnusableReply => {
                Kind::ServerError
            }
            // The vendor says the same of an account without money.
            Kind::BudgetExhausted => Kind::Forbidden,
            Kind::BudgetUnavailable => Kind::ServerError,
            same => same,
        };
        prop_assert_eq!(back.kind, kind);
        // The error alone, as a stream tells it.
        prop_assert_eq!(error::from_detail(&body.error, failure.phase).kind, kind);
    }
}
