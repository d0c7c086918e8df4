//! Common parts of the errors of all vendors.

use std::time::Duration;

use jackfield_domain::failure::{ModelFailure, ModelFailureKind, RetryAdvice};

/// How much of a vendor's message is quoted, in characters.
const WORDS: usize = 1000;

/// How much of a tag is quoted, in characters.
const TAG: usize = 100;

/// Whether and when to retry: by the server's headers, otherwise by this default.
///
/// `header` returns the value of a header by its lower-case name: `x-should-retry` decides whether,
/// `retry-after-ms` and `retry-after` when. `retry-after` is read as seconds; the adapter has to convert a date, as
/// there is no clock here.
#[must_use]
pub fn advice<'h>(default: RetryAdvice, header: impl Fn(&str) -> Option<&'h str>) -> RetryAdvice {
    let may = match header("x-should-retry") {
        Some("false") => false,
        Some("true") => true,
        Some(_) | None => default != RetryAdvice::Never,
    };
    if !may {
        return RetryAdvice::Never;
    }
    let number = |name: &str| {
        let number: f64 = header(name)?.trim().parse().ok()?;
        (number.is_finite() && number >= 0.0).then_some(number)
    };
    let millis = number("retry-after-ms").map(|millis| millis / 1000.0);
    let after = millis.or_else(|| number("retry-after"));
    match after.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()) {
        Some(after) => RetryAdvice::After(after),
        None => RetryAdvice::Backoff,
    }
}

/// The kind of a failure by its status alone (RFC 9110, and 529 for an overloaded server).
#[must_use]
pub const fn by_status(status: u16) -> ModelFailureKind {
    match status {
        401 => ModelFailureKind::Unauthenticated,
        402 | 403 => ModelFailureKind::Forbidden,
        404 => ModelFailureKind::ModelNotFound,
        408 | 504 => ModelFailureKind::Timeout,
        409 | 500..=503 | 505..=528 | 530..=599 => ModelFailureKind::ServerError,
        413 => ModelFailureKind::TooLarge,
        429 => ModelFailureKind::RateLimited,
        529 => ModelFailureKind::Overloaded,
        400..=499 => ModelFailureKind::InvalidRequest,
        _ => ModelFailureKind::ProtocolViolation,
    }
}

/// The vendor's message, with the error's other names in brackets: limited in length, and never the body itself.
#[must_use]
pub fn message(words: &str, tags: &[&str]) -> String {
    let words = words.trim();
    let mut text: String = if words.is_empty() {
        "the provider gave no reason".to_owned()
    } else {
        words.chars().take(WORDS).collect()
    };
    let tags: Vec<String> = tags
        .iter()
        .filter(|tag| !tag.is_empty())
        .map(|tag| tag.chars().take(TAG).collect())
        .collect();
    if !tags.is_empty() {
        text.push_str(&format!(" ({})", tags.join(", ")));
    }
    text
}

/// The delay before a retry, for an error that is served.
#[must_use]
pub const fn retry_after(failure: &ModelFailure) -> Option<Duration> {
    match failure.advice {
        RetryAdvice::After(after) => Some(after),
        RetryAdvice::AtOnce | RetryAdvice::Backoff | RetryAdvice::Never => None,
    }
}
