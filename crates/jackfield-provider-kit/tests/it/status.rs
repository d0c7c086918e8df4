//! Failures from statuses alone.

use http::StatusCode;
use jackfield_domain::failure::{ModelFailureKind as Kind, RetryAdvice};
use jackfield_provider_kit::status::{is_html, unreadable};

#[test]
fn an_answer_that_nobody_can_read_says_what_it_is() {
    let html = "<!DOCTYPE html><title>Welcome</title>";
    for (status, media_type, body, expected, kind, advice) in [
        (
            200,
            Some("text/html"),
            html,
            "http://h/x answered with a web page (200), not with the API: is base_url right?",
            Kind::ProtocolViolation,
            RetryAdvice::Never,
        ),
        (
            200,
            Some("image/png"),
            "",
            "http://h/x answered with image/png, not with the API: is base_url right?",
            Kind::ProtocolViolation,
            RetryAdvice::Never,
        ),
        (
            200,
            None,
            "",
            "http://h/x answered with no media type, not with the API: is base_url right?",
            Kind::ProtocolViolation,
            RetryAdvice::Never,
        ),
        (
            301,
            None,
            "",
            "http://h/x answered with a redirect (301), which is not followed: is base_url right?",
            Kind::ProtocolViolation,
            RetryAdvice::Never,
        ),
        (
            404,
            Some("text/html"),
            html,
            "http://h/x answered with a web page (404), not with the API: is base_url right?",
            Kind::InvalidRequest,
            RetryAdvice::Never,
        ),
        (
            404,
            Some("application/json"),
            "{}",
            "http://h/x is not there (404): is base_url right?",
            Kind::InvalidRequest,
            RetryAdvice::Never,
        ),
        (
            502,
            Some("text/html"),
            html,
            "http://h/x answered with a web page (502), not with the API: is base_url right?",
            Kind::ServerError,
            RetryAdvice::Backoff,
        ),
        (
            503,
            Some("text/plain"),
            "no\n  healthy upstream\n",
            "http://h/x answered 503: no healthy upstream",
            Kind::ServerError,
            RetryAdvice::Backoff,
        ),
        (
            500,
            None,
            "",
            "http://h/x answered 500",
            Kind::ServerError,
            RetryAdvice::Backoff,
        ),
        (
            501,
            None,
            "",
            "http://h/x answered 501",
            Kind::ServerError,
            RetryAdvice::Never,
        ),
    ] {
        let status = StatusCode::from_u16(status).unwrap();
        let failure = unreadable(status, media_type, body.as_bytes(), "http://h/x");
        assert_eq!(
            (failure.message.as_str(), failure.kind, failure.advice),
            (expected, kind, advice)
        );
    }
}

#[test]
fn a_long_body_is_told_in_part() {
    let body = "é".repeat(500);
    let failure = unreadable(StatusCode::BAD_GATEWAY, None, body.as_bytes(), "http://h");
    assert_eq!(
        failure.message,
        format!("http://h answered 502: {}…", "é".repeat(200))
    );
}

#[test]
fn a_web_page_is_known_by_its_looks() {
    assert!(is_html(None, b"\n <!DocType HTML>"));
    assert!(is_html(None, b"<HTML lang=en>"));
    assert!(is_html(Some("text/html"), b""));
    assert!(!is_html(Some("application/json"), b"{\"a\":\"<html\"}"));
}
