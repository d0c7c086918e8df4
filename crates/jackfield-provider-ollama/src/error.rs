//! Ollama's errors, as failures that the tool loop decides about.

use jackfield_dialect_kit::{error_patterns, failure};
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase, RetryAdvice};
use serde_json::Value;

use crate::wire::ErrorBody;

/// Classifies the body of an error response; `None` if it is not in Ollama's form.
#[must_use]
pub fn classify(status: u16, body: &[u8]) -> Option<ModelFailure> {
    let body: ErrorBody = serde_json::from_slice(body).ok()?;
    let words = message(&body.error)?;
    Some(from_words(Some(status), words, Phase::BeforeFirstDelta))
}

/// The text of an error.
pub(crate) fn message(error: &Value) -> Option<&str> {
    let nested = || error.get("message").and_then(Value::as_str);
    error.as_str().or_else(nested)
}

/// Classifies an error by its words, which are all that it has; within a stream there is no status either.
pub(crate) fn from_words(status: Option<u16>, words: &str, phase: Phase) -> ModelFailure {
    let lower = words.to_ascii_lowercase();
    let has = |part: &str| lower.contains(part);
    let known = if has("error parsing tool call") {
        ModelFailureKind::UnusableReply
    } else if has("server busy") {
        ModelFailureKind::Overloaded
    } else if has("request canceled") {
        ModelFailureKind::Interrupted
    } else {
        match status {
            Some(503) => ModelFailureKind::Overloaded,
            Some(status) => failure::by_status(status),
            None => ModelFailureKind::ServerError,
        }
    };
    let kind = error_patterns::kind(known, words);
    let code = status.map(|status| status.to_string()).unwrap_or_default();
    let mut message = failure::message(words, &[&code]);
    if let Some(way) = way_out(kind, words) {
        message.push_str(". ");
        message.push_str(&way);
    }
    let mut failure = ModelFailure::new(kind, phase, message);
    // The memory of a machine does not grow with time.
    if has("requires more system memory") {
        failure.advice = RetryAdvice::Never;
    }
    failure
}

fn way_out(kind: ModelFailureKind, words: &str) -> Option<String> {
    let way = match kind {
        ModelFailureKind::ModelNotFound => {
            return Some(match named_model(words) {
                Some(model) => format!("Get it on the server's machine: `ollama pull {model}`."),
                None => "Get it on the server's machine with `ollama pull`.".to_owned(),
            });
        }
        ModelFailureKind::ContextTooLong { .. } => {
            "Raise `num_ctx` of this provider, as far as the model and the memory allow."
        }
        ModelFailureKind::Unauthenticated => {
            "Sign in on the server's machine with `ollama signin`, or set a key of ollama.com."
        }
        ModelFailureKind::BudgetExhausted
        | ModelFailureKind::BudgetUnavailable
        | ModelFailureKind::ContentFilter
        | ModelFailureKind::Forbidden
        | ModelFailureKind::Interrupted
        | ModelFailureKind::InvalidRequest
        | ModelFailureKind::Overloaded
        | ModelFailureKind::ProtocolViolation
        | ModelFailureKind::RateLimited
        | ModelFailureKind::ServerError
        | ModelFailureKind::Timeout
        | ModelFailureKind::TooLarge
        | ModelFailureKind::ToolsUnsupported
        | ModelFailureKind::Transport
        | ModelFailureKind::Unsupported
        | ModelFailureKind::UnusableReply => return error_patterns::remedy(words).map(Into::into),
    };
    Some(way.to_owned())
}

/// The model that a message names in quotes, if it can stand in a command.
fn named_model(words: &str) -> Option<&str> {
    let start = words.find(['\'', '"'])?;
    let rest = words.get(start + 1..)?;
    let name = rest.get(..rest.find(['\'', '"'])?)?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._:/-".contains(c);
    let fits = !name.is_empty() && !name.starts_with('-') && name.chars().all(is_plain);
    fits.then_some(name)
}
