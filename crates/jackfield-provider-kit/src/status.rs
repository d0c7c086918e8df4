//! Failures by HTTP status, if the body has no better information.

use http::StatusCode;
use jackfield_dialect_kit::failure::by_status;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase, RetryAdvice};

/// The failure for a response that is not in the provider's dialect.
///
/// `url` is the requested URL without secrets; `body` is the beginning of the response.
#[must_use]
pub fn unreadable(
    status: StatusCode,
    media_type: Option<&str>,
    body: &[u8],
    url: &str,
) -> ModelFailure {
    let number = status.as_u16();
    let kind = if status.is_success() {
        ModelFailureKind::ProtocolViolation
    } else if status == StatusCode::NOT_FOUND {
        // Such a response does not mean that the model is missing.
        ModelFailureKind::InvalidRequest
    } else {
        by_status(number)
    };
    let message = if status.is_redirection() {
        format!(
            "{url} answered with a redirect ({number}), which is not followed: is base_url right?"
        )
    } else if is_html(media_type, body) {
        format!("{url} answered with a web page ({number}), not with the API: is base_url right?")
    } else if status == StatusCode::NOT_FOUND {
        format!("{url} is not there ({number}): is base_url right?")
    } else if status.is_success() {
        let media_type = media_type.unwrap_or("no media type");
        format!("{url} answered with {media_type}, not with the API: is base_url right?")
    } else {
        format!("{url} answered {number}{}", excerpt(body))
    };
    let mut failure = ModelFailure::new(kind, Phase::BeforeFirstDelta, message);
    if status.is_server_error() && number == 501 {
        failure.advice = RetryAdvice::Never;
    }
    failure
}

/// Whether a body is a web page, regardless of its media type.
#[must_use]
pub fn is_html(media_type: Option<&str>, body: &[u8]) -> bool {
    if media_type.is_some_and(|media_type| media_type == "text/html") {
        return true;
    }
    let begin = body.trim_ascii_start();
    [b"<!doctype html".as_slice(), b"<html"]
        .iter()
        .any(|tag| begin.len() >= tag.len() && begin[..tag.len()].eq_ignore_ascii_case(tag))
}

/// The beginning of a text body, on one line, after a colon; empty if it is not text.
fn excerpt(body: &[u8]) -> String {
    let Ok(text) = std::str::from_utf8(body) else {
        return String::new();
    };
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_EXCERPT) {
        _ if line.is_empty() => String::new(),
        Some((end, _)) => format!(": {}…", &line[..end]),
        None => format!(": {line}"),
    }
}

/// The longest excerpt, in characters.
const MAX_EXCERPT: usize = 200;
