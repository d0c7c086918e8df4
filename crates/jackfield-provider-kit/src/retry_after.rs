//! The retry headers of a server: `retry-after-ms`, `retry-after`, `x-should-retry`.

use std::time::{Duration, SystemTime};

use http::HeaderMap;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, RetryAdvice};
use jackfield_domain::time::WallTime;

/// The server's requested delay before a retry, if any.
///
/// `retry-after-ms` takes precedence over `retry-after`, which may be in seconds or a date, relative to `now`. An
/// invalid value is ignored.
#[must_use]
pub fn retry_after(headers: &HeaderMap, now: WallTime) -> Option<Duration> {
    let text = |name: &str| Some(headers.get(name)?.to_str().ok()?.trim());
    let in_millis = text("retry-after-ms").and_then(|millis| seconds(millis, 1_000.0));
    in_millis.or_else(|| {
        let text = text("retry-after")?;
        seconds(text, 1.0).or_else(|| until(text, now))
    })
}

/// Applies the server's retry headers to a failure.
///
/// A delay never makes a failure retryable that is not. `x-should-retry` decides whether to retry, except for a
/// missing or wrong key, which stays wrong, and for an unusable reply.
pub fn apply(failure: &mut ModelFailure, headers: &HeaderMap, now: WallTime) {
    let delay = retry_after(headers, now);
    let header = headers
        .get("x-should-retry")
        .and_then(|value| value.to_str().ok());
    let hopeless = matches!(
        failure.kind,
        ModelFailureKind::Forbidden | ModelFailureKind::Unauthenticated
    );
    let retry = match (header, failure.advice) {
        // The header concerns the request; a new reply will differ.
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
            RetryAdvice::AtOnce | RetryAdvice::Backoff | RetryAdvice::Never => RetryAdvice::Backoff,
        },
    };
}

/// A non-negative number of seconds or of their fractions.
fn seconds(text: &str, divisor: f64) -> Option<Duration> {
    let number: f64 = text.parse().ok()?;
    Duration::try_from_secs_f64(number / divisor).ok()
}

/// The time until an HTTP date; zero if it is in the past.
fn until(date: &str, now: WallTime) -> Option<Duration> {
    let date = httpdate::parse_http_date(date).ok()?;
    let since = date.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    let date = WallTime::from_millis(i64::try_from(since.as_millis()).ok()?);
    Some(date.since(now))
}
