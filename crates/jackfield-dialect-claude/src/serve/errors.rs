//! Errors in the form for clients: the status, the type, and Jackfield's own code.

use jackfield_dialect_kit::serve::{ServeError, ServeErrorKind};
use jackfield_domain::failure::ModelFailureKind;
use serde_json::json;

use crate::wire::{ErrorBody, ErrorDetail};

/// The status and the body for an error. The table of all errors is in `docs/http.md`.
pub(super) fn to_wire(error: &ServeError, request_id: &str) -> (u16, ErrorBody) {
    let (status, kind) = kind(&error.kind);
    let message = match error.param.as_deref() {
        Some(param) if !error.message.starts_with(param) => {
            format!("{param}: {}", error.message)
        }
        Some(_) | None => error.message.clone(),
    };
    let body = ErrorBody {
        kind: "error".to_owned(),
        error: ErrorDetail {
            kind: kind.to_owned(),
            message,
            details: Some(json!({ "error_code": error.kind.code() })),
            ..ErrorDetail::default()
        },
        request_id: Some(request_id.to_owned()),
    };
    (status, body)
}

/// Status and type (Claude Messages API, 2026-10-21, errors).
const fn kind(kind: &ServeErrorKind) -> (u16, &'static str) {
    match kind {
        ServeErrorKind::Busy | ServeErrorKind::Cancelled | ServeErrorKind::Conflict => {
            (409, "conflict_error")
        }
        ServeErrorKind::ClientExpired | ServeErrorKind::TooSlow => (408, "timeout_error"),
        ServeErrorKind::Exhausted { .. } => (503, "api_error"),
        ServeErrorKind::Forbidden => (403, "permission_error"),
        ServeErrorKind::Internal => (500, "api_error"),
        ServeErrorKind::Invalid
        | ServeErrorKind::LimitReached
        | ServeErrorKind::NoSuchCall
        | ServeErrorKind::ResultsMissing
        | ServeErrorKind::Strict
        | ServeErrorKind::ThreadUnsupported
        | ServeErrorKind::Unsupported => (400, "invalid_request_error"),
        ServeErrorKind::Model(failure) => of_model(failure.kind),
        ServeErrorKind::NoSuchAddress
        | ServeErrorKind::NoSuchModel
        | ServeErrorKind::NoSuchReply
        | ServeErrorKind::NoSuchSession => (404, "not_found_error"),
        ServeErrorKind::TooLarge => (413, "invalid_request_error"),
        ServeErrorKind::TooMany { .. } => (429, "rate_limit_error"),
        ServeErrorKind::Unauthenticated => (401, "authentication_error"),
        ServeErrorKind::Unavailable => (503, "api_error"),
        ServeErrorKind::UnsupportedEncoding => (415, "invalid_request_error"),
    }
}

/// If a provider refuses Jackfield's own key, the client is not at fault, as its own key was valid.
const fn of_model(kind: ModelFailureKind) -> (u16, &'static str) {
    match kind {
        ModelFailureKind::ContentFilter
        | ModelFailureKind::ContextTooLong { .. }
        | ModelFailureKind::InvalidRequest
        | ModelFailureKind::ToolsUnsupported
        | ModelFailureKind::Unsupported => (400, "invalid_request_error"),
        ModelFailureKind::Forbidden
        | ModelFailureKind::Interrupted
        | ModelFailureKind::ProtocolViolation
        | ModelFailureKind::Transport
        | ModelFailureKind::Unauthenticated
        | ModelFailureKind::UnusableReply => (502, "api_error"),
        ModelFailureKind::ModelNotFound => (404, "not_found_error"),
        ModelFailureKind::Overloaded => (529, "overloaded_error"),
        ModelFailureKind::BudgetExhausted | ModelFailureKind::RateLimited => {
            (429, "rate_limit_error")
        }
        ModelFailureKind::BudgetUnavailable => (503, "api_error"),
        ModelFailureKind::ServerError => (500, "api_error"),
        ModelFailureKind::TooLarge => (413, "invalid_request_error"),
        ModelFailureKind::Timeout => (504, "timeout_error"),
    }
}
