//! What errors have in common.

use std::time::Duration;

use jackfield_dialect_kit::failure::{advice, by_status, message, retry_after};
use jackfield_domain::failure::{ModelFailure, ModelFailureKind as Kind, Phase, RetryAdvice};

fn told(default: RetryAdvice, headers: &[(&str, &'static str)]) -> RetryAdvice {
    advice(default, |name| {
        let mut headers = headers.iter();
        headers.find(|(known, _)| *known == name).map(|(_, v)| *v)
    })
}

#[test]
fn the_servers_word_comes_before_the_default() {
    let after = |millis| RetryAdvice::After(Duration::from_millis(millis));
    let (backoff, never) = (RetryAdvice::Backoff, RetryAdvice::Never);
    for (default, headers, expected) in [
        (backoff, &[][..], backoff),
        (never, &[], never),
        (never, &[("retry-after", "7")], never),
        (never, &[("x-should-retry", "true")], backoff),
        (
            never,
            &[("x-should-retry", "true"), ("retry-after", "7")],
            after(7000),
        ),
        (
            backoff,
            &[("x-should-retry", "false"), ("retry-after", "7")],
            never,
        ),
        (backoff, &[("retry-after", " 0.5 ")], after(500)),
        (
            backoff,
            &[("retry-after", "7"), ("retry-after-ms", "20")],
            after(20),
        ),
        (backoff, &[("retry-after", "-1")], backoff),
        (backoff, &[("retry-after", "nan")], backoff),
        (backoff, &[("retry-after", "1e300")], backoff),
        (
            backoff,
            &[("retry-after", "Sun, 22 Nov 2026 00:00:00 GMT")],
            backoff,
        ),
    ] {
        assert_eq!(told(default, headers), expected, "{default:?} {headers:?}");
    }
}

#[test]
fn a_status_alone_says_what_it_can() {
    for (status, kind) in [
        (400, Kind::InvalidRequest),
        (401, Kind::Unauthenticated),
        (402, Kind::Forbidden),
        (404, Kind::ModelNotFound),
        (409, Kind::ServerError),
        (413, Kind::TooLarge),
        (418, Kind::InvalidRequest),
        (429, Kind::RateLimited),
        (500, Kind::ServerError),
        (502, Kind::ServerError),
        (503, Kind::ServerError),
        (504, Kind::Timeout),
        (599, Kind::ServerError),
        (529, Kind::Overloaded),
        (302, Kind::ProtocolViolation),
    ] {
        assert_eq!(by_status(status), kind, "{status}");
    }
}

#[test]
fn a_message_is_bounded_and_leaves_out_what_is_empty() {
    assert_eq!(message(" why ", &["429", "", "slow"]), "why (429, slow)");
    assert_eq!(message("\n", &["", ""]), "the provider gave no reason");
    let long = "\u{e9}".repeat(3000);
    assert_eq!(message(&long, &[&long]).chars().count(), 1000 + 3 + 100);
}

#[test]
fn a_served_error_says_when_to_come_again_as_the_provider_said_it() {
    let mut failure = ModelFailure::new(Kind::RateLimited, Phase::BeforeSend, "slow");
    assert_eq!(retry_after(&failure), None);
    failure.advice = RetryAdvice::After(Duration::from_millis(1500));
    assert_eq!(retry_after(&failure), Some(Duration::from_millis(1500)));
}
