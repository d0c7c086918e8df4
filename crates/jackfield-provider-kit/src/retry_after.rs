//! What a server says about trying again: `retry-after-ms`, `retry-after`, `x-should-retry`.

use std::time::{Duration, SystemTime};

use http::HeaderMap;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, RetryAdvice};
use jackfield_domain::time::WallTime;

/// How long the server wants to be left alone, if it says so.
///
/// `retry-after-ms` counts before `retry-after`, which may be in seconds or a date, seen from `now`.
/// What cannot be read counts as not said.
#[must_use]
pub fn retry_after(headers: &HeaderMap, now: WallTime) -> Option<Duration> {
    let text = |name: &str| Some(headers.get(name)?.to_str().ok()?.trim());
    let in_millis = text("retry-after-ms").and_then(|millis| seconds(millis, 1_000.0));
    in_millis.or_else(|| {
        let text = text("retry-after")?;
        seconds(text, 1.0).or_else(|| until(text, now))
    })
}

/// Puts the server's own words about trying again into a failure.
///
/// A server's delay says when, but never makes a failure worth repeating that is not;
/// `x-should-retry` decides whether, but for a missing or wrong key, which stays wrong, and for a reply that was
/// unusable.
pub fn apply(failure: &mut ModelFailure, headers: &HeaderMap, now: WallTime) {
    let delay = retry_after(headers, now);
    let should = headers
        .get("x-should-retry")
        .and_then(|value| value.to_str().ok());
    let hopeless = matches!(
        failure.kind,
        ModelFailureKind::Forbidden | ModelFailureKind::Unauthenticated
    );
    let retry = match (should, failure.advice) {
        // That is about the request; the reply comes out another way.
        _ if failure.kind == ModelFailureKind::UnusableReply => true,
        (Some("false"), _) => false,
        (Some("true"), _) => !hopeless,
        (_, advice) => advice != RetryAdvice::Never,
    };
    failure.advice = match (retry, delay) {
        (false, _) => RetryAdvice::Never,
        (true, Some(delay)) => RetryAdvice::After(delay),
        (true, None) => match failure.advice {
            RetryAdvice::After(delay) => RetryAdvice::After(delay),
            RetryAdvice::Backoff | RetryAdvice::Never => RetryAdvice::Backoff,
        },
    };
}

/// A number of seconds, or of their parts, that is not negative.
fn seconds(text: &str, parts: f64) -> Option<Duration> {
    let number: f64 = text.parse().ok()?;
    Duration::try_from_secs_f64(number / parts).ok()
}

/// How long until an HTTP date; zero if it is past.
fn until(date: &str, now: WallTime) -> Option<Duration> {
    let date = httpdate::parse_http_date(date).ok()?;
    let since = date.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    let date = WallTime::from_millis(i64::try_from(since.as_millis()).ok()?);
    Some(date.since(now))
}
