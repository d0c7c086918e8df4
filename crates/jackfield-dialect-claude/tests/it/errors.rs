//! Errors of the vendor's, and what is made of them.

use std::time::Duration;

use jackfield_dialect_claude::error;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind as Kind, Phase, RetryAdvice};
use jackfield_testkit::arb as kit;
use proptest::prelude::*;
use serde_json::json;

fn classified(
    status: u16,
    headers: &[(&str, &'static str)],
    kind: &str,
    message: &str,
    code: Option<&str>,
) -> ModelFailure {
    let mut body = json!({ "type": "error", "error": { "type": kind, "message": message }, "request_id": "req_1" });
    if let Some(code) = code {
        body["error"]["details"] = json!({ "error_code": code });
    }
    let header = |name: &str| {
        headers
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| *value)
    };
    error::classify(
        status,
        header,
        body.to_string().as_bytes(),
        Phase::BeforeFirstDelta,
    )
}

#[test]
fn every_documented_error_has_its_kind_and_advice() {
    let cases: &[(u16, &str, Kind, RetryAdvice)] = &[
        (
            400,
            "invalid_request_error",
            Kind::InvalidRequest,
            RetryAdvice::Never,
        ),
        (
            401,
            "authentication_error",
            Kind::Unauthenticated,
            RetryAdvice::Never,
        ),
        (402, "billing_error", Kind::Forbidden, RetryAdvice::Never),
        (403, "permission_error", Kind::Forbidden, RetryAdvice::Never),
        (
            404,
            "not_found_error",
            Kind::ModelNotFound,
            RetryAdvice::Never,
        ),
        (408, "timeout_error", Kind::Timeout, RetryAdvice::Backoff),
        (
            409,
            "conflict_error",
            Kind::ServerError,
            RetryAdvice::Backoff,
        ),
        (
            413,
            "invalid_request_error",
            Kind::TooLarge,
            RetryAdvice::Never,
        ),
        (413, "request_too_large", Kind::TooLarge, RetryAdvice::Never),
        (
            429,
            "rate_limit_error",
            Kind::RateLimited,
            RetryAdvice::Backoff,
        ),
        (500, "api_error", Kind::ServerError, RetryAdvice::Backoff),
        (503, "api_error", Kind::ServerError, RetryAdvice::Backoff),
        (504, "timeout_error", Kind::Timeout, RetryAdvice::Backoff),
        (
            529,
            "overloaded_error",
            Kind::Overloaded,
            RetryAdvice::Backoff,
        ),
        (
            418,
            "teapot_error",
            Kind::InvalidRequest,
            RetryAdvice::Never,
        ),
    ];
    for (status, kind, expected, advice) in cases {
        let failure = classified(*status, &[], kind, "why", None);
        assert_eq!(
            (failure.kind, failure.advice),
            (*expected, *advice),
            "{status} {kind}"
        );
        assert_eq!(failure.message, format!("why ({status}, {kind})"));
    }
}

#[test]
fn the_servers_word_on_when_counts_most() {
    let advice = |headers: &[(&str, &'static str)]| {
        classified(429, headers, "rate_limit_error", "slow", None).advice
    };
    assert_eq!(
        advice(&[("retry-after", "7")]),
        RetryAdvice::After(Duration::from_secs(7))
    );
    assert_eq!(
        advice(&[("retry-after", "7"), ("retry-after-ms", "1500")]),
        RetryAdvice::After(Duration::from_millis(1500))
    );
    assert_eq!(
        advice(&[("x-should-retry", "false"), ("retry-after", "7")]),
        RetryAdvice::Never
    );
    for unreadable in [
        "-1",
        "nan",
        "soon",
        "1e300",
        "Sun, 22 Nov 2026 00:00:00 GMT",
    ] {
        assert_eq!(
            advice(&[("retry-after", unreadable)]),
            RetryAdvice::Backoff,
            "{unreadable}"
        );
    }
    let told = classified(
        400,
        &[("x-should-retry", "true")],
        "invalid_request_error",
        "odd",
        None,
    );
    assert_eq!(told.advice, RetryAdvice::Backoff);
}

/// What stands before a server, and servers that only speak its language, call any error so.
#[test]
fn a_type_that_is_used_for_anything_does_not_beat_the_status() {
    for (status, kind) in [
        (400, Kind::InvalidRequest),
        (401, Kind::Unauthenticated),
        (422, Kind::InvalidRequest),
        (429, Kind::RateLimited),
        (500, Kind::ServerError),
        (502, Kind::ServerError),
        (503, Kind::ServerError),
        (504, Kind::Timeout),
        (529, Kind::Overloaded),
    ] {
        for name in ["invalid_request_error", "api_error"] {
            let failure = classified(status, &[], name, "why", None);
            assert_eq!(failure.kind, kind, "{status} {name}");
            assert_eq!(failure.advice, kind.default_advice(), "{status} {name}");
        }
    }
    let headers = [("retry-after", "3")];
    let failure = classified(503, &headers, "invalid_request_error", "later", None);
    assert_eq!(failure.advice, RetryAdvice::After(Duration::from_secs(3)));
}

#[test]
fn a_spend_limit_is_no_rate_limit() {
    for code in [
        "enforced_spend_limit_reached",
        "contract_spend_limit_reached",
        "organization_on_hold",
    ] {
        let failure = classified(
            429,
            &[("retry-after", "5"), ("x-should-retry", "false")],
            "rate_limit_error",
            "paid out",
            Some(code),
        );
        assert_eq!(
            (failure.kind, failure.advice),
            (Kind::Forbidden, RetryAdvice::Never)
        );
        let failure = classified(
            429,
            &[("retry-after", "5")],
            "rate_limit_error",
            "paid out",
            Some(code),
        );
        assert_eq!(failure.advice, RetryAdvice::Never);
    }
    let ramp = classified(
        429,
        &[("retry-after", "5")],
        "rate_limit_error",
        "slowly",
        Some("ramp_limit_exceeded"),
    );
    assert_eq!(
        (ramp.kind, ramp.advice),
        (
            Kind::RateLimited,
            RetryAdvice::After(Duration::from_secs(5))
        )
    );
}

#[test]
fn a_prompt_that_is_too_long_says_by_how_much() {
    let failure = classified(
        400,
        &[],
        "invalid_request_error",
        "prompt is too long: 210001 tokens > 200000 maximum",
        None,
    );
    assert_eq!(
        failure.kind,
        Kind::ContextTooLong {
            limit: Some(200_000),
            requested: Some(210_001)
        }
    );
    for other in [
        "prompt is too long",
        "max_tokens: 9 > 8",
        "many tokens > few maximum",
    ] {
        let failure = classified(400, &[], "invalid_request_error", other, None);
        assert_eq!(failure.kind, Kind::InvalidRequest, "{other}");
    }
    // Servers of other models that speak this language, too.
    let words =
        "The input (516368 tokens) is longer than the model's context length (262144 tokens).";
    let failure = classified(400, &[], "invalid_request_error", words, None);
    assert_eq!(
        failure.kind,
        Kind::ContextTooLong {
            limit: Some(262_144),
            requested: Some(516_368)
        }
    );
    // llama.cpp
    let body = json!({ "error": { "code": 400, "message": "too long", "type": "exceed_context_size_error", "n_prompt_tokens": 9000, "n_ctx": 8192 } });
    let failure = error::classify(
        400,
        |_| None,
        body.to_string().as_bytes(),
        Phase::BeforeFirstDelta,
    );
    assert_eq!(
        failure.kind,
        Kind::ContextTooLong {
            limit: Some(8192),
            requested: Some(9000)
        }
    );
}

#[test]
fn an_answer_that_is_no_json_is_judged_by_its_status_and_not_repeated() {
    let failure = error::classify(
        502,
        |_| None,
        b"<html>secret</html>",
        Phase::BeforeFirstDelta,
    );
    assert_eq!(failure.kind, Kind::ServerError);
    assert_eq!(failure.message, "the provider gave no reason (502)");
}

proptest! {
    #[test]
    fn any_answer_is_classified(status: u16, body in prop_oneof![kit::json().prop_map(|json| json.to_string()), ".{0,30}".prop_map(String::from)]) {
        let failure = error::classify(status, |_| Some("x"), body.as_bytes(), Phase::MidReply);
        prop_assert_eq!(failure.phase, Phase::MidReply);
    }

    #[test]
    fn a_failure_told_to_a_client_keeps_its_kind(failure in kit::model_failure()) {
        let (status, body) = error::to_wire(&failure, Some("req_1"));
        let bytes = serde_json::to_vec(&body).expect("JSON");
        let back = error::classify(status, |_| None, &bytes, failure.phase);
        let kind = match failure.kind {
            Kind::ContentFilter
            | Kind::ContextTooLong { .. }
            | Kind::ToolsUnsupported
            | Kind::Unsupported => Kind::InvalidRequest,
            Kind::Interrupted | Kind::ProtocolViolation | Kind::Transport | Kind::UnusableReply => {
                Kind::ServerError
            }
            Kind::BudgetExhausted => Kind::RateLimited,
            Kind::BudgetUnavailable => Kind::ServerError,
            same => same,
        };
        prop_assert_eq!(back.kind, kind);
    }
}
