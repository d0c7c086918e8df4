//! Errors: maps the vendor's errors to failures that the tool loop decides about, and failures to the vendor's
//! errors.
//!
//! The codes are those of the official SDK's types (`openai` 3.54.0, 2026-11), and those that OpenAI and compatible
//! servers were observed to send (2026-11).

mod body;
mod kind;

pub use body::{ErrorBody, ErrorDetail};

use jackfield_dialect_kit::{error_patterns, failure};
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase, RetryAdvice};

/// Classifies a response that is not a reply, in any form that servers use.
///
/// `header` returns the value of a header by its lower-case name. `retry-after` is read as seconds; the adapter has
/// to convert a date, as there is no clock here. An error with status 200 is judged by its body alone.
#[must_use]
pub fn classify<'h>(
    status: u16,
    header: impl Fn(&str) -> Option<&'h str>,
    body: &[u8],
    phase: Phase,
) -> ModelFailure {
    let body: Option<ErrorBody> = serde_json::from_slice(body).ok();
    let detail = body.map(|body| body.error).unwrap_or_default();
    let status_code = (status != 200).then_some(status);
    let kind = match (status_code, detail.is_empty()) {
        (None, true) => ModelFailureKind::ProtocolViolation,
        (said, _) => kind::of(said, &detail),
    };
    to_failure(kind, status_code, &detail, header, phase)
}

/// Classifies an error inside a stream, which has no status and no headers: that of a chunk, of an `error` event,
/// or of a failed response.
#[must_use]
pub fn from_detail(detail: &ErrorDetail, phase: Phase) -> ModelFailure {
    to_failure(kind::of(None, detail), None, detail, |_| None, phase)
}

/// The status and body for a failure, in the vendor's form.
#[must_use]
pub fn to_wire(failure: &ModelFailure) -> (u16, ErrorBody) {
    let (status, kind, code) = match failure.kind {
        ModelFailureKind::BudgetExhausted => (429, INSUFFICIENT, Some(INSUFFICIENT)),
        ModelFailureKind::ContentFilter => (400, "invalid_request_error", Some("content_filter")),
        ModelFailureKind::ContextTooLong { .. } => (
            400,
            "invalid_request_error",
            Some("context_length_exceeded"),
        ),
        ModelFailureKind::InvalidRequest
        | ModelFailureKind::ToolsUnsupported
        | ModelFailureKind::Unsupported => (400, "invalid_request_error", None),
        ModelFailureKind::Forbidden => (403, "permission_error", Some("permission_denied")),
        ModelFailureKind::BudgetUnavailable
        | ModelFailureKind::Interrupted
        | ModelFailureKind::ProtocolViolation
        | ModelFailureKind::ServerError
        | ModelFailureKind::Transport
        | ModelFailureKind::UnusableReply => (500, "server_error", Some("server_error")),
        ModelFailureKind::ModelNotFound => (404, "invalid_request_error", Some("model_not_found")),
        ModelFailureKind::Overloaded => (503, "server_error", Some("server_is_overloaded")),
        ModelFailureKind::RateLimited => (429, "rate_limit_error", Some("rate_limit_exceeded")),
        ModelFailureKind::TooLarge => (413, "invalid_request_error", Some("request_too_large")),
        ModelFailureKind::Timeout => (504, "server_error", Some("timeout")),
        ModelFailureKind::Unauthenticated => (401, "authentication_error", Some("invalid_api_key")),
    };
    let error = ErrorDetail {
        code: code.map(str::to_owned),
        kind: kind.to_owned(),
        message: failure.message.clone(),
        ..ErrorDetail::default()
    };
    (status, ErrorBody { error })
}

/// The type and the code of an account without money (OpenAI, error codes, 2026-11-25).
pub(crate) const INSUFFICIENT: &str = "insufficient_quota";

fn to_failure<'h>(
    kind: ModelFailureKind,
    status: Option<u16>,
    detail: &ErrorDetail,
    header: impl Fn(&str) -> Option<&'h str>,
    phase: Phase,
) -> ModelFailure {
    let status = status.map(|status| status.to_string()).unwrap_or_default();
    let code = detail.code.as_deref().unwrap_or_default();
    // Some servers repeat the status as the code, others the type.
    let code = if code == status || code == detail.kind {
        ""
    } else {
        code
    };
    let mut message = failure::message(&detail.message, &[&status, &detail.kind, code]);
    if let Some(way) = way_out(detail) {
        message.push_str(". ");
        message.push_str(way);
    }
    let mut failure = ModelFailure::new(kind, phase, message);
    failure.advice = if kind::is_out_of_money(detail) {
        // The vendor reports it as a rate limit, with the headers of one.
        RetryAdvice::Never
    } else {
        failure::advice(failure.advice, header)
    };
    failure
}

/// Advice for the user, if the vendor's message has none.
///
/// Nothing depends on it: if the vendor's message changes, only the advice is missing.
fn way_out(detail: &ErrorDetail) -> Option<&'static str> {
    if kind::is_out_of_money(detail) {
        return Some("The account is out of credit, and trying again does not help.");
    }
    error_patterns::remedy(&detail.message)
}
