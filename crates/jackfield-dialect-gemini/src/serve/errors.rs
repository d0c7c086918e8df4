//! Errors in the form for clients: the status, its name, and Jackfield's own code as the reason.

use jackfield_dialect_kit::serve::{ServeError, ServeErrorKind};
use jackfield_domain::failure::ModelFailureKind;
use serde_json::json;

use crate::error::body;
use crate::wire::ErrorBody;

/// The status and the body for an error. The table of all errors is in `docs/http.md`.
pub(super) fn to_wire(error: &ServeError, request_id: &str) -> (u16, ErrorBody) {
    let (code, status) = kind(&error.kind);
    let message = match error.param.as_deref() {
        Some(param) if !error.message.starts_with(param) => format!("{param}: {}", error.message),
        Some(_) | None => error.message.clone(),
    };
    let mut details = vec![
        json!({
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": error.kind.code(),
            "domain": "jackfield",
        }),
        json!({
            "@type": "type.googleapis.com/google.rpc.RequestInfo",
            "requestId": request_id,
        }),
    ];
    if let Some(delay) = error.kind.retry_after() {
        details.push(json!({
            "@type": "type.googleapis.com/google.rpc.RetryInfo",
            "retryDelay": format!("{}s", delay.as_secs_f64()),
        }));
    }
    (code, body(code, status, &message, details))
}

/// The status and its name (`google.rpc.Code`).
const fn kind(kind: &ServeErrorKind) -> (u16, &'static str) {
    match kind {
        ServeErrorKind::Busy | ServeErrorKind::Conflict => (409, "ABORTED"),
        ServeErrorKind::Cancelled => (499, "CANCELLED"),
        ServeErrorKind::ClientExpired | ServeErrorKind::TooSlow => (408, "DEADLINE_EXCEEDED"),
        ServeErrorKind::Exhausted { .. } => (503, "UNAVAILABLE"),
        ServeErrorKind::Forbidden => (403, "PERMISSION_DENIED"),
        ServeErrorKind::Internal => (500, "INTERNAL"),
        ServeErrorKind::Invalid
        | ServeErrorKind::LimitReached
        | ServeErrorKind::NoSuchCall
        | ServeErrorKind::ResultsMissing
        | ServeErrorKind::Strict
        | ServeErrorKind::ThreadUnsupported
        | ServeErrorKind::Unsupported => (400, "INVALID_ARGUMENT"),
        ServeErrorKind::Model(failure) => of_model(failure.kind),
        ServeErrorKind::NoSuchAddress
        | ServeErrorKind::NoSuchModel
        | ServeErrorKind::NoSuchReply
        | ServeErrorKind::NoSuchSession => (404, "NOT_FOUND"),
        ServeErrorKind::TooLarge => (413, "INVALID_ARGUMENT"),
        ServeErrorKind::TooMany { .. } => (429, "RESOURCE_EXHAUSTED"),
        ServeErrorKind::Unauthenticated => (401, "UNAUTHENTICATED"),
        ServeErrorKind::Unavailable => (503, "UNAVAILABLE"),
        ServeErrorKind::UnsupportedEncoding => (415, "INVALID_ARGUMENT"),
    }
}

/// If a provider refuses Jackfield's own key, the client is not at fault, as its own key was valid.
const fn of_model(kind: ModelFailureKind) -> (u16, &'static str) {
    match kind {
        ModelFailureKind::ContentFilter
        | ModelFailureKind::ContextTooLong { .. }
        | ModelFailureKind::InvalidRequest
        | ModelFailureKind::ToolsUnsupported
        | ModelFailureKind::Unsupported => (400, "INVALID_ARGUMENT"),
        ModelFailureKind::Forbidden
        | ModelFailureKind::Interrupted
        | ModelFailureKind::ProtocolViolation
        | ModelFailureKind::Transport
        | ModelFailureKind::Unauthenticated
        | ModelFailureKind::UnusableReply => (502, "UNAVAILABLE"),
        ModelFailureKind::ModelNotFound => (404, "NOT_FOUND"),
        ModelFailureKind::BudgetUnavailable | ModelFailureKind::Overloaded => (503, "UNAVAILABLE"),
        ModelFailureKind::BudgetExhausted | ModelFailureKind::RateLimited => {
            (429, "RESOURCE_EXHAUSTED")
        }
        ModelFailureKind::ServerError => (500, "INTERNAL"),
        ModelFailureKind::TooLarge => (413, "INVALID_ARGUMENT"),
        ModelFailureKind::Timeout => (504, "DEADLINE_EXCEEDED"),
    }
}
