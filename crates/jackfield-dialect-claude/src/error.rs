//! Errors: the vendor's as failures that the loop decides about, and failures as the vendor would tell them.

use jackfield_dialect_kit::{error_words, failure};
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase, RetryAdvice};

use crate::wire::{ErrorBody, ErrorDetail};

/// Classifies an answer that is no reply (Claude Messages API, 2026-10-21, errors).
///
/// `header` gives the value of a header by its name in lower case. `retry-after` is read as seconds;
/// where it is a date, the adapter has to say how far away that is, because nothing here knows the time.
#[must_use]
pub fn classify<'h>(
    status: u16,
    header: impl Fn(&str) -> Option<&'h str>,
    body: &[u8],
    phase: Phase,
) -> ModelFailure {
    let parsed: Option<ErrorBody> = serde_json::from_slice(body).ok();
    let detail = parsed.map(|body| body.error).unwrap_or_default();
    let kind = kind(Some(status), &detail);
    let mut failure = ModelFailure::new(kind, phase, message(Some(status), &detail));
    failure.advice = advice(kind, &detail, header);
    failure
}

/// Classifies an `error` event, which has no status and no headers.
pub(crate) fn from_detail(detail: &ErrorDetail, phase: Phase) -> ModelFailure {
    let kind = kind(None, detail);
    let mut failure = ModelFailure::new(kind, phase, message(None, detail));
    failure.advice = advice(kind, detail, |_| None);
    failure
}

/// The status and body for a failure, as the vendor would tell it.
#[must_use]
pub fn to_wire(failure: &ModelFailure, request_id: Option<&str>) -> (u16, ErrorBody) {
    let (status, kind) = match failure.kind {
        ModelFailureKind::ContextTooLong { .. }
        | ModelFailureKind::InvalidRequest
        | ModelFailureKind::Unsupported => (400, "invalid_request_error"),
        ModelFailureKind::Forbidden => (403, "permission_error"),
        ModelFailureKind::Interrupted
        | ModelFailureKind::ProtocolViolation
        | ModelFailureKind::ServerError
        | ModelFailureKind::Transport
        | ModelFailureKind::UnusableReply => (500, "api_error"),
        ModelFailureKind::ModelNotFound => (404, "not_found_error"),
        ModelFailureKind::Overloaded => (529, "overloaded_error"),
        ModelFailureKind::RateLimited => (429, "rate_limit_error"),
        ModelFailureKind::TooLarge => (413, "invalid_request_error"),
        ModelFailureKind::Timeout => (504, "timeout_error"),
        ModelFailureKind::Unauthenticated => (401, "authentication_error"),
    };
    let body = ErrorBody {
        kind: "error".to_owned(),
        error: ErrorDetail {
            kind: kind.to_owned(),
            message: failure.message.clone(),
            ..ErrorDetail::default()
        },
        request_id: request_id.map(str::to_owned),
    };
    (status, body)
}

/// By the type of the error first, which is more exact; then by the status. Types that servers and what stands
/// before them use for anything do not count before a status.
fn kind(status: Option<u16>, detail: &ErrorDetail) -> ModelFailureKind {
    if is_spend_limit(detail) {
        return ModelFailureKind::Forbidden;
    }
    let status = status.filter(|status| *status >= 400);
    let kind = match (detail.kind.as_str(), status) {
        // llama.cpp
        ("exceed_context_size_error", _) => ModelFailureKind::ContextTooLong {
            limit: None,
            requested: None,
        },
        ("authentication_error", _) => ModelFailureKind::Unauthenticated,
        ("billing_error" | "permission_error", _) => ModelFailureKind::Forbidden,
        ("not_found_error", _) => ModelFailureKind::ModelNotFound,
        ("overloaded_error", _) => ModelFailureKind::Overloaded,
        ("rate_limit_error", _) => ModelFailureKind::RateLimited,
        ("request_too_large", _) => ModelFailureKind::TooLarge,
        ("timeout_error", _) => ModelFailureKind::Timeout,
        (_, Some(status)) => failure::by_status(status),
        ("invalid_request_error", None) => ModelFailureKind::InvalidRequest,
        (_, None) => ModelFailureKind::ServerError,
    };
    // An error with a code of its own has that for its cause.
    let kind = match code(detail) {
        Some(_) => kind,
        // The vendor has no code for a prompt that is too long and asks not to match on the message. So this is a
        // hint and no more: where the words change, it is an invalid request, which is treated alike but for what
        // people are told.
        None => error_words::kind(kind, &detail.message),
    };
    if let ModelFailureKind::ContextTooLong { limit, requested } = kind {
        return ModelFailureKind::ContextTooLong {
            limit: detail.n_ctx.or(limit),
            requested: detail.n_prompt_tokens.or(requested),
        };
    }
    kind
}

/// A limit of money: it is reset on a day, not in a while.
fn is_spend_limit(detail: &ErrorDetail) -> bool {
    code(detail).is_some_and(|code| code.ends_with("_spend_limit_reached"))
}

fn code(detail: &ErrorDetail) -> Option<&str> {
    detail.details.as_ref()?.get("error_code")?.as_str()
}

/// The server's own word on whether and when, then the default of the kind.
fn advice<'h>(
    kind: ModelFailureKind,
    detail: &ErrorDetail,
    header: impl Fn(&str) -> Option<&'h str>,
) -> RetryAdvice {
    let default = if is_spend_limit(detail) {
        RetryAdvice::Never
    } else {
        kind.default_advice()
    };
    failure::advice(default, header)
}

/// What the vendor says, with what it calls it; never the body itself.
fn message(status: Option<u16>, detail: &ErrorDetail) -> String {
    let status = status.map(|status| status.to_string()).unwrap_or_default();
    let code = code(detail).unwrap_or_default();
    failure::message(&detail.message, &[&status, &detail.kind, code])
}
