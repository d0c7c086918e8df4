//! Refusals, in the vendor's form.

use hyper::StatusCode;
use jackfield_dialect_claude::wire::{ErrorBody, ErrorDetail};

/// A request that gets no reply.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct DemoRefusal {
    /// The vendor's name of the kind of error.
    pub(super) kind: &'static str,
    pub(super) message: String,
    pub(super) status: StatusCode,
}

impl DemoRefusal {
    /// The request breaks a rule.
    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request_error", message)
    }

    /// There is no such thing.
    pub(super) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found_error", message)
    }

    pub(super) fn no_key() -> Self {
        let message = "x-api-key header is required; any key will do";
        Self::new(StatusCode::UNAUTHORIZED, "authentication_error", message)
    }

    /// The body is too large.
    pub(super) fn too_large(limit: usize) -> Self {
        let message = format!("the body is larger than {limit} bytes");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "request_too_large", message)
    }

    /// The server is at fault.
    pub(super) fn broken(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "api_error", message)
    }

    /// The path is known, and the method is not.
    pub(super) fn wrong_method() -> Self {
        let message = "method not allowed";
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "invalid_request_error",
            message,
        )
    }

    /// The body of the response.
    pub(super) fn to_wire(&self, request_id: &str) -> ErrorBody {
        ErrorBody {
            kind: "error".to_owned(),
            error: ErrorDetail {
                kind: self.kind.to_owned(),
                message: self.message.clone(),
                ..ErrorDetail::default()
            },
            request_id: Some(request_id.to_owned()),
        }
    }

    fn new(status: StatusCode, kind: &'static str, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            status,
        }
    }
}
