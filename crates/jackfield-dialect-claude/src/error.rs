//! Errors: maps the vendor's errors to failures that the tool loop decides about, and failures to the vendor's
//! errors.

use jackfield_dialect_kit::{error_patterns, failure};
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase, RetryAdvice};

use crate::wire::{ErrorBody, ErrorDetail};

/// Classifies a response that is not a reply (Claude Messages API, 2026-10-21, errors).
///
/// `header` returns the value of a header by its lower-case name. `retry-after` is read as seconds; the adapter has
/// to convert a date, as there is no clock here.
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

/// The status and body for a failure, in the vendor's form.
#[must_use]
pub fn to_wire(failure: &ModelFailure, request_id: Option<&str>) -> (u16, ErrorBody) {
    let (status, kind) = match failure.kind {
        ModelFailureKind::ContentFilter
        | ModelFailureKind::ContextTooLong { .. }
        | ModelFailureKind::InvalidRequest
        | ModelFailureKind::ToolsUnsupported
        | ModelFailureKind::Unsupported => (400, "invalid_request_error"),
        ModelFailureKind::Forbidden => (403, "permission_error"),
        ModelFailureKind::BudgetUnavailable
        | ModelFailureKind::Interrupted
        | ModelFailureKind::ProtocolViolation
        | ModelFailureKind::ServerError
        | ModelFailureKind::Transport
        | ModelFailureKind::UnusableReply => (500, "api_error"),
        ModelFailureKind::ModelNotFound => (404, "not_found_error"),
        ModelFailureKind::Overloaded => (529, "overloaded_error"),
        ModelFailureKind::BudgetExhausted | ModelFailureKind::RateLimited => {
            (429, "rate_limit_error")
        }
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

/// The kind of a failure: by the error's type, which is more specific, then by the status. A status overrides types
/// that servers and proxies use for any error.
fn kind(status: Option<u16>, detail: &ErrorDetail) -> ModelFailureKind {
    if is_out_of_use(detail) {
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
    // The code of an error names its cause.
    let kind = match code(detail) {
        Some(_) => kind,
        // The vendor has no code for a prompt that is too long and asks clients not to match on the message. So
        // this is only a hint: if the message changes, the kind is an invalid request, which is handled alike
        // except for the text for people.
        None => error_patterns::kind(kind, &detail.message),
    };
    if let ModelFailureKind::ContextTooLong { limit, requested } = kind {
        return ModelFailureKind::ContextTooLong {
            limit: detail.n_ctx.or(limit),
            requested: detail.n_prompt_tokens.or(requested),
        };
    }
    kind
}

/// An account that cannot be used, whatever the status is: a spending limit, which is reset on a fixed day and not
/// after a while, or a decision about its billing.
fn is_out_of_use(detail: &ErrorDetail) -> bool {
    let is_listed = |code: &str| OUT_OF_USE.contains(&code);
    code(detail).is_some_and(|code| code.ends_with("_spend_limit_reached") || is_listed(code))
}

fn code(detail: &ErrorDetail) -> Option<&str> {
    detail.details.as_ref()?.get("error_code")?.as_str()
}

/// The retry advice: by the server's headers, then by the default of the kind.
fn advice<'h>(
    kind: ModelFailureKind,
    detail: &ErrorDetail,
    header: impl Fn(&str) -> Option<&'h str>,
) -> RetryAdvice {
    let default = if is_out_of_use(detail) {
        RetryAdvice::Never
    } else {
        kind.default_advice()
    };
    failure::advice(default, header)
}

/// The vendor's message and type; never the body itself.
fn message(status: Option<u16>, detail: &ErrorDetail) -> String {
    let status = status.map(|status| status.to_string()).unwrap_or_default();
    let code = code(detail).unwrap_or_default();
    failure::message(&detail.message, &[&status, &detail.kind, code])
}

/// Codes for accounts that cannot be used (types of the SDK `anthropic` 1.13.0, 2026-11-23).
const OUT_OF_USE: [&str; 3] = [
    "linked_organization_billing_unavailable",
    "organization_on_hold",
    "user_profile_billing_not_authorized",
];
