//! What servers say about trying again.

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase, RetryAdvice};
use jackfield_domain::time::WallTime;
use jackfield_provider_kit::retry_after::{apply, retry_after};

#[test]
fn delays_are_read_in_every_form() {
    let cases = [
        ("", None),
        ("retry-after: 3", Some(3_000)),
        ("retry-after: 0", Some(0)),
        ("retry-after: 1.5", Some(1_500)),
        ("retry-after: Sun, 06 Nov 1994 08:49:37 GMT", Some(7_000)),
        ("retry-after: Sunday, 06-Nov-94 08:49:37 GMT", Some(7_000)),
        ("retry-after: Sun, 06 Nov 1994 08:49:29 GMT", Some(0)),
        ("retry-after-ms: 250", Some(250)),
        ("retry-after-ms: 250\nretry-after: 3", Some(250)),
        ("retry-after-ms: soon\nretry-after: 3", Some(3_000)),
        ("retry-after: -3", None),
        ("retry-after: NaN", None),
        ("retry-after: inf", None),
        ("retry-after: 1e300", None),
        ("retry-after: soon", None),
    ];
    for (headers, expected) in cases {
        let delay = retry_after(&map(headers), now());
        assert_eq!(delay, expected.map(Duration::from_millis), "{headers:?}");
    }
}

#[test]
fn a_header_that_is_no_text_counts_as_not_said() {
    let mut headers = HeaderMap::new();
    headers.insert("retry-after", HeaderValue::from_bytes(b"\xff").unwrap());
    assert_eq!(retry_after(&headers, now()), None);
}

#[test]
fn the_server_decides_when_but_not_against_all_hope() {
    use ModelFailureKind as Kind;
    use RetryAdvice::{After, Backoff, Never};
    let three = After(Duration::from_secs(3));
    let cases = [
        (Kind::RateLimited, "", Backoff),
        (Kind::RateLimited, "retry-after: 3", three),
        (Kind::Overloaded, "retry-after: 3", three),
        (
            Kind::RateLimited,
            "x-should-retry: false\nretry-after: 3",
            Never,
        ),
        (Kind::InvalidRequest, "retry-after: 3", Never),
        (Kind::InvalidRequest, "x-should-retry: true", Backoff),
        (
            Kind::InvalidRequest,
            "x-should-retry: true\nretry-after: 3",
            three,
        ),
        (
            Kind::Unauthenticated,
            "x-should-retry: true\nretry-after: 3",
            Never,
        ),
        (Kind::Forbidden, "x-should-retry: true", Never),
        (Kind::Overloaded, "x-should-retry: perhaps", Backoff),
    ];
    for (kind, headers, expected) in cases {
        let mut failure = ModelFailure::new(kind, Phase::BeforeFirstDelta, "failed");
        apply(&mut failure, &map(headers), now());
        assert_eq!(failure.advice, expected, "{kind:?} {headers:?}");
    }
}

/// Sunday, 6 November 1994, 08:49:30 UTC.
fn now() -> WallTime {
    WallTime::from_millis(784_111_770_000)
}

/// Headers as they stand in a response, one on a line.
fn map(headers: &str) -> HeaderMap {
    let headers = headers.lines().map(|line| {
        let (name, value) = line.split_once(": ").unwrap();
        (name.parse::<HeaderName>().unwrap(), value.parse().unwrap())
    });
    headers.collect()
}
