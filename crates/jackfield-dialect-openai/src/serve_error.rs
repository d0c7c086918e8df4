//! Jackfield's own errors as a server, in OpenAI's form, for both dialects.
//!
//! The status selects the exception of the vendor's SDKs; the code permits finer decisions. Where the vendor has a
//! code for the same error, that one is used.

use jackfield_dialect_kit::serve::{ErrorResponse, ServeError, ServeErrorKind};
use jackfield_domain::failure::ModelFailureKind;

use crate::error::{ErrorBody, ErrorDetail, INSUFFICIENT};

/// The response to a request that gets no reply.
pub(crate) fn to_response(error: &ServeError, request_id: &str) -> ErrorResponse {
    let (status, body) = to_wire(error, request_id);
    ErrorResponse {
        // Serialization cannot fail: all keys are strings.
        body: serde_json::to_vec(&body).unwrap_or_default(),
        retry_after: error.kind.retry_after(),
        status,
    }
}

/// The status and body for an error; in a stream, the body alone.
pub(crate) fn to_wire(error: &ServeError, request_id: &str) -> (u16, ErrorBody) {
    let (status, kind, code) = classify(error);
    let mut message = error.message.clone();
    if matches!(error.kind, ServeErrorKind::Internal) && !request_id.is_empty() {
        // The details are only in the log.
        message.push_str(&format!(" (request {request_id})"));
    }
    let error = ErrorDetail {
        code: Some(code.to_owned()),
        kind: kind.to_owned(),
        message,
        param: error.param.clone(),
        ..ErrorDetail::default()
    };
    (status, ErrorBody { error })
}

/// Status, type and code: the vendor's own code where it has one for the same thing.
fn classify(error: &ServeError) -> (u16, &'static str, &'static str) {
    let own = error.kind.code();
    match &error.kind {
        ServeErrorKind::Busy | ServeErrorKind::Cancelled | ServeErrorKind::Conflict => {
            (409, REQUEST, own)
        }
        ServeErrorKind::ClientExpired | ServeErrorKind::TooSlow => (408, REQUEST, own),
        ServeErrorKind::Exhausted { .. } => (503, SERVER, own),
        ServeErrorKind::Forbidden => (403, "permission_error", own),
        ServeErrorKind::Internal => (500, SERVER, own),
        ServeErrorKind::Invalid
        | ServeErrorKind::LimitReached
        | ServeErrorKind::NoSuchCall
        | ServeErrorKind::ResultsMissing
        | ServeErrorKind::Strict
        | ServeErrorKind::ThreadUnsupported => (400, REQUEST, own),
        ServeErrorKind::Model(failure) => model(failure.kind, own),
        ServeErrorKind::NoSuchAddress => (404, REQUEST, "unknown_url"),
        ServeErrorKind::NoSuchModel => (404, REQUEST, "model_not_found"),
        // The vendor's answer to a request that continues from an unknown response.
        ServeErrorKind::NoSuchReply if error.param.is_some() => {
            (400, REQUEST, "previous_response_not_found")
        }
        ServeErrorKind::NoSuchReply | ServeErrorKind::NoSuchSession => (404, REQUEST, own),
        ServeErrorKind::TooLarge => (413, REQUEST, own),
        ServeErrorKind::TooMany { .. } => (429, RATE, "rate_limit_exceeded"),
        ServeErrorKind::Unauthenticated => (401, "authentication_error", "invalid_api_key"),
        ServeErrorKind::Unavailable => (503, SERVER, "service_unavailable"),
        ServeErrorKind::Unsupported => (400, REQUEST, "unsupported_parameter"),
        ServeErrorKind::UnsupportedEncoding => (415, REQUEST, own),
    }
}

/// A failure of the provider. The client cannot fix our key or the connection, so such failures are server errors.
const fn model(kind: ModelFailureKind, own: &'static str) -> (u16, &'static str, &'static str) {
    match kind {
        ModelFailureKind::BudgetExhausted => (429, INSUFFICIENT, INSUFFICIENT),
        ModelFailureKind::BudgetUnavailable => (503, SERVER, own),
        ModelFailureKind::ContentFilter => (400, REQUEST, "content_filter"),
        ModelFailureKind::ContextTooLong { .. } => (400, REQUEST, "context_length_exceeded"),
        ModelFailureKind::Forbidden
        | ModelFailureKind::Interrupted
        | ModelFailureKind::ProtocolViolation
        | ModelFailureKind::Transport
        | ModelFailureKind::Unauthenticated
        | ModelFailureKind::UnusableReply => (502, SERVER, own),
        ModelFailureKind::InvalidRequest
        | ModelFailureKind::ToolsUnsupported
        | ModelFailureKind::Unsupported => (400, REQUEST, own),
        ModelFailureKind::ModelNotFound => (404, REQUEST, "model_not_found"),
        ModelFailureKind::Overloaded => (503, SERVER, "server_is_overloaded"),
        ModelFailureKind::RateLimited => (429, RATE, "rate_limit_exceeded"),
        ModelFailureKind::ServerError => (500, SERVER, own),
        ModelFailureKind::TooLarge => (413, REQUEST, own),
        ModelFailureKind::Timeout => (504, SERVER, "timeout"),
    }
}

const RATE: &str = "rate_limit_error";
const REQUEST: &str = "invalid_request_error";
const SERVER: &str = "server_error";
