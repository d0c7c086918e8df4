//! Errors: maps the vendor's errors to failures that the tool loop decides about, and failures to the vendor's
//! errors (`google.rpc.Status`; Gemini API documentation, troubleshooting, 2026-11).

mod vertex;

use std::time::Duration;

use jackfield_dialect_kit::{error_patterns, failure};
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase, RetryAdvice};
use serde_json::Value;

use crate::wire::{ErrorBody, ErrorDetail};

/// The error in a body; some servers put it into a list.
#[must_use]
pub fn parse(body: &[u8]) -> Option<ErrorBody> {
    if body.trim_ascii_start().starts_with(b"[") {
        let list: Vec<ErrorBody> = serde_json::from_slice(body).ok()?;
        return list.into_iter().next();
    }
    serde_json::from_slice(body).ok()
}

/// The service that sent an error. Both speak the same language, but the remedies differ.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Service {
    /// The Gemini API of Google AI.
    GeminiApi,
    /// Vertex AI, of Google Cloud.
    VertexAi,
}

/// Classifies a response of the Gemini API that is not a reply: see [`classify_at`].
#[must_use]
pub fn classify<'h>(
    status: u16,
    header: impl Fn(&str) -> Option<&'h str>,
    body: &[u8],
    phase: Phase,
) -> ModelFailure {
    classify_at(Service::GeminiApi, status, header, body, phase)
}

/// Classifies a response that is not a reply.
///
/// `header` returns the value of a header by its lower-case name. `retry-after` is read as seconds; the adapter has
/// to convert a date, as there is no clock here.
#[must_use]
pub fn classify_at<'h>(
    service: Service,
    status: u16,
    header: impl Fn(&str) -> Option<&'h str>,
    body: &[u8],
    phase: Phase,
) -> ModelFailure {
    let detail = parse(body).map(|body| body.error).unwrap_or_default();
    let mut failure = explained(service, Some(status), &detail, phase);
    if failure.advice == RetryAdvice::Backoff {
        failure.advice = failure::advice(failure.advice, header);
    }
    failure
}

/// Classifies an error in a stream, which has no status of its own.
pub(crate) fn from_detail(status: Option<u16>, detail: &ErrorDetail, phase: Phase) -> ModelFailure {
    explained(Service::GeminiApi, status, detail, phase)
}

fn explained(
    service: Service,
    status: Option<u16>,
    detail: &ErrorDetail,
    phase: Phase,
) -> ModelFailure {
    let status = status.or(detail.code).filter(|status| *status >= 400);
    let kind = kind(status, detail);
    let code = status.map(|status| status.to_string()).unwrap_or_default();
    let name = detail.status.as_deref().unwrap_or_default();
    let reason = reason(detail).unwrap_or_default();
    let mut message = failure::message(&detail.message, &[&code, name, reason]);
    let way = match service {
        Service::GeminiApi => way_out(kind, detail),
        Service::VertexAi => vertex::way_out(kind, detail).or_else(|| way_out(kind, detail)),
    };
    if let Some(way) = way {
        message.push_str(". ");
        message.push_str(way);
    }
    let mut failure = ModelFailure::new(kind, phase, message);
    if failure.advice != RetryAdvice::Never {
        failure.advice = if is_used_up(detail) {
            RetryAdvice::Never
        } else {
            retry_delay(detail).map_or(failure.advice, RetryAdvice::After)
        };
    }
    failure
}

/// The status and body for a failure, in the vendor's form.
#[must_use]
pub fn to_wire(failure: &ModelFailure) -> (u16, ErrorBody) {
    let (code, status) = match failure.kind {
        ModelFailureKind::ContentFilter
        | ModelFailureKind::ContextTooLong { .. }
        | ModelFailureKind::InvalidRequest
        | ModelFailureKind::TooLarge
        | ModelFailureKind::ToolsUnsupported
        | ModelFailureKind::Unsupported => (400, "INVALID_ARGUMENT"),
        ModelFailureKind::Forbidden => (403, "PERMISSION_DENIED"),
        ModelFailureKind::Interrupted
        | ModelFailureKind::ProtocolViolation
        | ModelFailureKind::ServerError
        | ModelFailureKind::Transport
        | ModelFailureKind::UnusableReply => (500, "INTERNAL"),
        ModelFailureKind::ModelNotFound => (404, "NOT_FOUND"),
        ModelFailureKind::BudgetUnavailable | ModelFailureKind::Overloaded => (503, "UNAVAILABLE"),
        ModelFailureKind::BudgetExhausted | ModelFailureKind::RateLimited => {
            (429, "RESOURCE_EXHAUSTED")
        }
        ModelFailureKind::Timeout => (504, "DEADLINE_EXCEEDED"),
        ModelFailureKind::Unauthenticated => (401, "UNAUTHENTICATED"),
    };
    (code, body(code, status, &failure.message, Vec::new()))
}

/// A body in the vendor's form.
pub(crate) fn body(code: u16, status: &str, message: &str, details: Vec<Value>) -> ErrorBody {
    ErrorBody {
        error: ErrorDetail {
            code: Some(code),
            message: message.to_owned(),
            status: Some(status.to_owned()),
            details,
        },
    }
}

/// The kind of a failure: by the reason in its details, by the error's name, then by the status.
fn kind(status: Option<u16>, detail: &ErrorDetail) -> ModelFailureKind {
    let words = detail.message.to_ascii_lowercase();
    let kind = match (reason(detail).unwrap_or_default(), detail.status.as_deref()) {
        ("API_KEY_INVALID" | "API_KEY_EXPIRED", _) => ModelFailureKind::Unauthenticated,
        ("MODEL_CAPACITY_EXHAUSTED", _) => ModelFailureKind::Overloaded,
        // Money, which does not come back with time.
        (_, Some("RESOURCE_EXHAUSTED")) if OUT_OF_MONEY.iter().any(|part| words.contains(part)) => {
            ModelFailureKind::Forbidden
        }
        // A wrong key is an invalid argument by name and by status.
        (_, Some("INVALID_ARGUMENT")) if words.starts_with("api key ") => {
            ModelFailureKind::Unauthenticated
        }
        (_, Some("INVALID_ARGUMENT")) if words.contains("request payload size exceeds") => {
            ModelFailureKind::TooLarge
        }
        (_, Some("INVALID_ARGUMENT"))
            if words.contains("function calling is not") || words.contains("tool use is not") =>
        {
            ModelFailureKind::ToolsUnsupported
        }
        (_, Some("INVALID_ARGUMENT" | "OUT_OF_RANGE")) => ModelFailureKind::InvalidRequest,
        (_, Some("UNAUTHENTICATED")) => ModelFailureKind::Unauthenticated,
        // The account's billing or region, and not the request.
        (_, Some("FAILED_PRECONDITION" | "PERMISSION_DENIED")) => ModelFailureKind::Forbidden,
        (_, Some("NOT_FOUND")) => ModelFailureKind::ModelNotFound,
        (_, Some("RESOURCE_EXHAUSTED")) => ModelFailureKind::RateLimited,
        (_, Some("DEADLINE_EXCEEDED")) => ModelFailureKind::Timeout,
        (_, Some("UNAVAILABLE")) => ModelFailureKind::Overloaded,
        (_, Some("ABORTED" | "DATA_LOSS" | "INTERNAL" | "UNKNOWN")) => {
            ModelFailureKind::ServerError
        }
        (_, Some("CANCELLED")) => ModelFailureKind::Interrupted,
        (_, Some("UNIMPLEMENTED")) => ModelFailureKind::InvalidRequest,
        (_, Some(_) | None) => match status {
            Some(503) => ModelFailureKind::Overloaded,
            Some(status) => failure::by_status(status),
            None => ModelFailureKind::ServerError,
        },
    };
    error_patterns::kind(kind, &detail.message)
}

/// Advice for the user, if the vendor's message has none.
fn way_out(kind: ModelFailureKind, detail: &ErrorDetail) -> Option<&'static str> {
    if is_used_up(detail) {
        return Some(
            "The quota of the day or of the plan is used up: wait for tomorrow, or enable billing.",
        );
    }
    let words = detail.message.to_ascii_lowercase();
    let way = match kind {
        ModelFailureKind::Unauthenticated => {
            "Set a key of Google AI Studio (https://aistudio.google.com/apikey)."
        }
        ModelFailureKind::ModelNotFound => "`jackfield models` shows the models of this key.",
        ModelFailureKind::Forbidden if words.contains("location") => {
            "The free API is not offered in every region: use a paid key, or another provider."
        }
        ModelFailureKind::ToolsUnsupported => {
            "Choose a model that calls functions, or send no tools."
        }
        ModelFailureKind::BudgetExhausted
        | ModelFailureKind::BudgetUnavailable
        | ModelFailureKind::ContentFilter
        | ModelFailureKind::ContextTooLong { .. }
        | ModelFailureKind::Forbidden
        | ModelFailureKind::Interrupted
        | ModelFailureKind::InvalidRequest
        | ModelFailureKind::Overloaded
        | ModelFailureKind::ProtocolViolation
        | ModelFailureKind::RateLimited
        | ModelFailureKind::ServerError
        | ModelFailureKind::Timeout
        | ModelFailureKind::TooLarge
        | ModelFailureKind::Transport
        | ModelFailureKind::Unsupported
        | ModelFailureKind::UnusableReply => return error_patterns::remedy(&detail.message),
    };
    Some(way)
}

/// Parts of the messages about an account without money.
const OUT_OF_MONEY: [&str; 2] = ["prepayment credits", "spending cap"];

/// Whether the quota of a day is used up, or there is none at all; both come with a delay of seconds.
fn is_used_up(detail: &ErrorDetail) -> bool {
    if detail.status.as_deref() != Some("RESOURCE_EXHAUSTED") {
        return false;
    }
    let quotas = of_type(detail, "QuotaFailure").filter_map(|failure| failure.get("violations"));
    let mut violations = quotas.filter_map(Value::as_array).flatten();
    let is_daily = |violation: &Value| {
        let id = violation.get("quotaId").and_then(Value::as_str);
        let value = violation.get("quotaValue").and_then(Value::as_str);
        id.is_some_and(|id| id.contains("PerDay")) || value == Some("0")
    };
    violations.any(is_daily)
}

/// The delay that the server asks for, such as `34s` or `34.07s`.
fn retry_delay(detail: &ErrorDetail) -> Option<Duration> {
    let delay = of_type(detail, "RetryInfo").find_map(|info| info.get("retryDelay")?.as_str())?;
    let seconds: f64 = delay.strip_suffix('s')?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// The reason in the details, such as `API_KEY_INVALID`.
fn reason(detail: &ErrorDetail) -> Option<&str> {
    of_type(detail, "ErrorInfo").find_map(|info| info.get("reason")?.as_str())
}

fn of_type<'d>(detail: &'d ErrorDetail, kind: &'static str) -> impl Iterator<Item = &'d Value> {
    detail.details.iter().filter(move |one| {
        let named = one.get("@type").and_then(Value::as_str);
        named.is_some_and(|named| named.ends_with(kind))
    })
}
