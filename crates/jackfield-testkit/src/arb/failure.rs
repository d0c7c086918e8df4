//! Failures of model calls and tool calls.

use std::time::Duration;

use jackfield_domain::failure::{
    Disposition, ModelFailure, ModelFailureKind, Phase, RetryAdvice, ToolFailure, ToolFailureKind,
};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::text::text;

/// The kind of a model call's failure.
pub fn model_failure_kind() -> impl Strategy<Value = ModelFailureKind> + Clone {
    let plain = select(
        &[
            ModelFailureKind::BudgetExhausted,
            ModelFailureKind::BudgetUnavailable,
            ModelFailureKind::ContentFilter,
            ModelFailureKind::Forbidden,
            ModelFailureKind::Interrupted,
            ModelFailureKind::InvalidRequest,
            ModelFailureKind::ModelNotFound,
            ModelFailureKind::Overloaded,
            ModelFailureKind::ProtocolViolation,
            ModelFailureKind::RateLimited,
            ModelFailureKind::ServerError,
            ModelFailureKind::Timeout,
            ModelFailureKind::TooLarge,
            ModelFailureKind::ToolsUnsupported,
            ModelFailureKind::Transport,
            ModelFailureKind::Unauthenticated,
            ModelFailureKind::Unsupported,
            ModelFailureKind::UnusableReply,
        ][..],
    );
    let too_long = (option::of(any::<u64>()), option::of(any::<u64>()))
        .prop_map(|(limit, requested)| ModelFailureKind::ContextTooLong { limit, requested });
    prop_oneof![8 => plain, 1 => too_long]
}

/// A model call that failed, with any advice.
pub fn model_failure() -> impl Strategy<Value = ModelFailure> + Clone {
    let advice = prop_oneof![
        (0..100_000_u64).prop_map(|ms| RetryAdvice::After(Duration::from_millis(ms))),
        Just(RetryAdvice::AtOnce),
        Just(RetryAdvice::Backoff),
        Just(RetryAdvice::Never),
    ];
    let phase = select(&[Phase::BeforeSend, Phase::BeforeFirstDelta, Phase::MidReply][..]);
    (
        advice,
        model_failure_kind(),
        text(),
        phase,
        option::of(text()),
    )
        .prop_map(|(advice, kind, message, phase, request_id)| ModelFailure {
            advice,
            kind,
            message: message.to_string(),
            phase,
            request_id,
        })
        .boxed()
}

/// The kind of a tool call's failure.
pub fn tool_failure_kind() -> impl Strategy<Value = ToolFailureKind> + Clone {
    select(
        &[
            ToolFailureKind::Cancelled,
            ToolFailureKind::Crashed,
            ToolFailureKind::InvalidArguments,
            ToolFailureKind::ProtocolViolation,
            ToolFailureKind::Timeout,
            ToolFailureKind::Unavailable,
            ToolFailureKind::UnknownTool,
        ][..],
    )
}

/// The disposition of a call that ended without an outcome.
pub(super) fn disposition() -> impl Strategy<Value = Disposition> + Clone {
    select(
        &[
            Disposition::Landed,
            Disposition::NotSent,
            Disposition::Unknown,
        ][..],
    )
}

/// A tool call that ended without an outcome.
pub fn tool_failure() -> impl Strategy<Value = ToolFailure> + Clone {
    (disposition(), tool_failure_kind(), text())
        .prop_map(|(disposition, kind, message)| ToolFailure {
            disposition,
            kind,
            message: message.to_string(),
        })
        .boxed()
}
