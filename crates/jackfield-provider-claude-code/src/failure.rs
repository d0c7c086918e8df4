//! What went wrong with Claude Code, for the loop and for people.

use jackfield_dialect_claude::error;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase, RetryAdvice};
use jackfield_guard::StartFault;
use serde_json::json;

use crate::config::ClaudeCodeConfig;
use crate::wire::TurnResult;

/// A program that cannot be started.
pub(crate) fn not_started(fault: &StartFault, command: &str) -> ModelFailure {
    let message = format!(
        "Claude Code cannot be started: {}; install it with `npm install -g @anthropic-ai/claude-code`, or set \
         `command` of its provider (now `{command}`) to its path",
        fault.reason
    );
    let mut failure = ModelFailure::new(ModelFailureKind::Transport, Phase::BeforeSend, message);
    failure.advice = RetryAdvice::Never;
    failure
}

/// A process more than there may be.
pub(crate) fn too_many(config: &ClaudeCodeConfig) -> ModelFailure {
    let message = format!(
        "{} processes of Claude Code work already, and none has ended within {} s: try again later, or raise \
         `max_processes` of its provider",
        config.max_processes,
        config.process_wait.as_secs()
    );
    ModelFailure::new(ModelFailureKind::Overloaded, Phase::BeforeSend, message)
}

/// A program of a version that does not have what we need.
pub(crate) fn too_old(version: &str) -> ModelFailure {
    let (major, minor, patch) = MIN_VERSION;
    let message = format!(
        "Claude Code {version} is too old; version {major}.{minor}.{patch} is the first that works: update it with \
         `claude update`"
    );
    ModelFailure::new(ModelFailureKind::Unsupported, Phase::BeforeSend, message)
}

/// Whether this is a version that does not have what we need.
pub(crate) fn is_too_old(version: &str) -> bool {
    let mut numbers = version.split(['.', '-', ' ']).map(str::parse::<u32>);
    let mut number = || numbers.next().and_then(Result::ok);
    match (number(), number(), number()) {
        (Some(major), Some(minor), Some(patch)) => (major, minor, patch) < MIN_VERSION,
        // Unknown forms of versions are newer ones.
        _ => false,
    }
}

/// A process that ended without a result. `last_words` says how.
pub(crate) fn ended(last_words: &str, phase: Phase) -> ModelFailure {
    if last_words.contains("unknown option") {
        let message = format!(
            "Claude Code does not know an argument, so it is too old or `arguments` of its provider are wrong: \
             {last_words}"
        );
        return ModelFailure::new(ModelFailureKind::Unsupported, phase, message);
    }
    let message = format!("Claude Code ended in the middle: {last_words}");
    ModelFailure::new(ModelFailureKind::Interrupted, phase, message)
}

/// A program that writes something else.
pub(crate) fn not_the_protocol(command: &str, phase: Phase) -> ModelFailure {
    let message = format!(
        "`{command}` does not speak the protocol of Claude Code: is `command` of its provider right?"
    );
    ModelFailure::new(ModelFailureKind::ProtocolViolation, phase, message)
}

/// A program without a login or a key.
pub(crate) fn logged_out(phase: Phase) -> ModelFailure {
    let message = "Claude Code is not logged in: run `claude` as the user of this program and type `/login`, or give \
                   its provider a key";
    ModelFailure::new(ModelFailureKind::Unauthenticated, phase, message)
}

/// A process that is silent.
pub(crate) fn silent(seconds: u64, phase: Phase) -> ModelFailure {
    let message = format!("Claude Code was silent for {seconds} s, and was ended");
    ModelFailure::new(ModelFailureKind::Timeout, phase, message)
}

/// A turn that Claude Code itself ended as failed. `error` is the kind that its last message names.
pub(crate) fn of_result(result: &TurnResult, error: Option<&str>, phase: Phase) -> ModelFailure {
    let mut words: Vec<&str> = result.errors.iter().map(String::as_str).collect();
    words.extend(result.result.as_deref().filter(|text| !text.is_empty()));
    let words = words.join("; ");
    let words: String = words.split_whitespace().collect::<Vec<_>>().join(" ");
    let words: String = words.chars().take(SHOWN).collect();
    if result.subtype == "error_max_turns" {
        let message = "Claude Code made as many rounds as `limits.rounds`, or `max_turns` of its provider, allows, without an \
                       answer";
        let mut failure = ModelFailure::new(ModelFailureKind::UnusableReply, phase, message);
        failure.advice = RetryAdvice::Never;
        return failure;
    }
    if result.subtype == "error_max_structured_output_retries" {
        let message = "Claude Code's model gave no answer that fits the schema";
        return ModelFailure::new(ModelFailureKind::UnusableReply, phase, message);
    }
    let kind = match (error, result.api_error_status) {
        (_, Some(status)) => {
            let kind = error.map_or("", vendor_kind);
            let body = json!({ "type": "error", "error": { "type": kind, "message": words } });
            let body = body.to_string();
            let failure = error::classify(status, |_| None, body.as_bytes(), phase);
            failure.kind
        }
        (
            Some("authentication_failed" | "oauth_org_not_allowed" | "cloud_credential_error"),
            None,
        ) => ModelFailureKind::Unauthenticated,
        (Some("billing_error" | "account_on_hold" | "verification_required"), None) => {
            ModelFailureKind::Forbidden
        }
        (Some("rate_limit"), None) => ModelFailureKind::RateLimited,
        (Some("overloaded"), None) => ModelFailureKind::Overloaded,
        (Some("invalid_request"), None) => ModelFailureKind::InvalidRequest,
        (Some("model_not_found"), None) => ModelFailureKind::ModelNotFound,
        (Some("server_error"), None) => ModelFailureKind::ServerError,
        // It has words for the cause alone.
        (Some(_), None) if UNREACHABLE.iter().any(|word| words.contains(word)) => {
            ModelFailureKind::Transport
        }
        (Some(_), None) => ModelFailureKind::Interrupted,
        (None, None) => ModelFailureKind::ServerError,
    };
    if (kind, result.api_error_status) == (ModelFailureKind::Unauthenticated, None) {
        return logged_out(phase);
    }
    let help = if kind == ModelFailureKind::Unauthenticated {
        ": log in again with `claude` and `/login`, or check the key of its provider"
    } else {
        ""
    };
    ModelFailure::new(kind, phase, format!("Claude Code failed: {words}{help}"))
}

/// The Messages API's type of an error, for one of Claude Code's kinds (`SDKAssistantMessageError`).
fn vendor_kind(error: &str) -> &'static str {
    match error {
        "authentication_failed" => "authentication_error",
        "billing_error" => "billing_error",
        "rate_limit" => "rate_limit_error",
        "overloaded" => "overloaded_error",
        "invalid_request" => "invalid_request_error",
        "model_not_found" => "not_found_error",
        "server_error" => "api_error",
        _ => "",
    }
}

/// The codes of the system for a server that was not reached.
const UNREACHABLE: [&str; 4] = ["ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH", "ENOTFOUND"];
/// The first version that is known to have what we need: the protocol was read with it on 2026-08-22.
const MIN_VERSION: (u32, u32, u32) = (2, 1, 240);
/// The most characters of a text of Claude Code that a message shows.
const SHOWN: usize = 500;
