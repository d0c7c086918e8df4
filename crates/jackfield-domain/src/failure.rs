//! Failures that the loop decides about: of model calls and of tool calls.

use std::sync::Arc;
use std::time::Duration;

/// A model call that failed, as the adapter classified it. Adapters never retry.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ModelFailure {
    /// The retry advice of the provider or the transport.
    pub advice: RetryAdvice,
    /// The kind of failure.
    pub kind: ModelFailureKind,
    /// One sentence for a person: the cause and, if known, the remedy. No secrets.
    pub message: String,
    /// How far the call had progressed.
    pub phase: Phase,
    /// The provider's id of the request, if it sent one.
    pub request_id: Option<Arc<str>>,
}

/// The kind of a model call's failure.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum ModelFailureKind {
    /// A budget of a key, a user or a team is used up, so the call was not made. It is no fault of the provider.
    BudgetExhausted,
    /// The budgets cannot be read or written, so the call was not made.
    BudgetUnavailable,
    /// The provider's content filter refused the request, or the reply.
    ContentFilter,
    /// The request is longer than the model's context.
    ContextTooLong {
        /// How many tokens fit, if known.
        limit: Option<u64>,
        /// How many tokens the request has, if known.
        requested: Option<u64>,
    },
    /// The key lacks the permission, or the account has no credit.
    Forbidden,
    /// The connection broke, or the stream ended without its end marker.
    Interrupted,
    /// The provider rejects the request.
    InvalidRequest,
    /// The provider has no such model.
    ModelNotFound,
    /// The provider is overloaded.
    Overloaded,
    /// The provider's answer does not follow its own protocol.
    ProtocolViolation,
    /// Too many requests.
    RateLimited,
    /// The provider has a temporary error.
    ServerError,
    /// The provider did not answer, or was silent for too long.
    Timeout,
    /// The request has more bytes than the provider accepts.
    TooLarge,
    /// The model cannot call tools.
    ToolsUnsupported,
    /// The provider cannot be reached.
    Transport,
    /// The key is missing or wrong.
    Unauthenticated,
    /// The dialect cannot express the request, or the adapter cannot do it.
    Unsupported,
    /// The model wrote a reply that its provider cannot parse, such as a malformed tool call. A retry of the
    /// same request may succeed.
    UnusableReply,
}

/// How far a model call had progressed when it failed.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Phase {
    /// Certainly not sent to the provider.
    BeforeSend,
    /// Sent, or possibly sent; nothing has arrived.
    BeforeFirstDelta,
    /// In the middle of the reply.
    MidReply,
}

/// The advice about a retry, from the side that failed.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum RetryAdvice {
    /// After this time, as the server asks.
    After(Duration),
    /// At once: the provider certainly did not begin to work on it, such as on a kept connection that it had
    /// closed, or another form of the request may work.
    AtOnce,
    /// With increasing pauses.
    Backoff,
    /// It would fail again.
    Never,
}

impl ModelFailureKind {
    /// The advice if the provider gives none.
    #[must_use]
    pub const fn default_advice(self) -> RetryAdvice {
        match self {
            Self::Interrupted
            | Self::Overloaded
            | Self::RateLimited
            | Self::ServerError
            | Self::Timeout
            | Self::Transport
            | Self::UnusableReply => RetryAdvice::Backoff,
            Self::BudgetExhausted
            | Self::BudgetUnavailable
            | Self::ContentFilter
            | Self::ContextTooLong { .. }
            | Self::Forbidden
            | Self::InvalidRequest
            | Self::ModelNotFound
            | Self::ProtocolViolation
            | Self::TooLarge
            | Self::ToolsUnsupported
            | Self::Unauthenticated
            | Self::Unsupported => RetryAdvice::Never,
        }
    }
}

impl ModelFailure {
    /// A failure with the default advice of its kind.
    #[must_use]
    pub fn new(kind: ModelFailureKind, phase: Phase, message: impl Into<String>) -> Self {
        Self {
            advice: kind.default_advice(),
            kind,
            message: message.into(),
            phase,
            request_id: None,
        }
    }

    /// Whether the model takes its tools as text: its provider takes none, and its adapter can send the request in
    /// another form at once.
    #[must_use]
    pub const fn wants_tools_as_text(&self) -> bool {
        matches!(
            (self.kind, self.advice),
            (ModelFailureKind::ToolsUnsupported, RetryAdvice::AtOnce)
        )
    }

    /// Whether a budget, or the journal that keeps it, did not let the call be made.
    #[must_use]
    pub const fn is_of_budget(&self) -> bool {
        matches!(
            self.kind,
            ModelFailureKind::BudgetExhausted | ModelFailureKind::BudgetUnavailable
        )
    }

    /// Whether the provider may have worked on the call, and may charge for it. A rejected call costs nothing.
    #[must_use]
    pub const fn may_have_used(&self) -> bool {
        match self.phase {
            Phase::BeforeSend => false,
            Phase::MidReply => true,
            Phase::BeforeFirstDelta => match self.kind {
                ModelFailureKind::Interrupted
                | ModelFailureKind::Timeout
                | ModelFailureKind::Transport
                | ModelFailureKind::UnusableReply => true,
                // The request was rejected, or something other than the provider answered.
                ModelFailureKind::BudgetExhausted
                | ModelFailureKind::BudgetUnavailable
                | ModelFailureKind::ContentFilter
                | ModelFailureKind::ContextTooLong { .. }
                | ModelFailureKind::Forbidden
                | ModelFailureKind::InvalidRequest
                | ModelFailureKind::ModelNotFound
                | ModelFailureKind::Overloaded
                | ModelFailureKind::ProtocolViolation
                | ModelFailureKind::RateLimited
                | ModelFailureKind::ServerError
                | ModelFailureKind::TooLarge
                | ModelFailureKind::ToolsUnsupported
                | ModelFailureKind::Unauthenticated
                | ModelFailureKind::Unsupported => false,
            },
        }
    }
}

/// A tool call that ended without an outcome.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ToolFailure {
    /// What is known of the call's effects.
    pub disposition: Disposition,
    /// The kind of failure.
    pub kind: ToolFailureKind,
    /// One sentence for the model and for people. No secrets.
    pub message: String,
}

/// What is known of a call that ended without an outcome.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Disposition {
    /// It took effect; only its outcome is lost. Never run again.
    Landed,
    /// Certainly not run.
    NotSent,
    /// It is unknown whether it took effect.
    Unknown,
}

crate::named! { Disposition: Landed = "landed", NotSent = "not_sent", Unknown = "unknown" }

/// The kind of a tool call's failure.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum ToolFailureKind {
    /// The turn was cancelled.
    Cancelled,
    /// The process that ran it ended.
    Crashed,
    /// The arguments do not match the tool's schema.
    InvalidArguments,
    /// The tool's server violated the protocol.
    ProtocolViolation,
    /// It exceeded its time limit.
    Timeout,
    /// The tool's server cannot be reached, or has disconnected.
    Unavailable,
    /// The tool does not exist anymore.
    UnknownTool,
}

crate::named! { ToolFailureKind:
    Cancelled = "cancelled", Crashed = "crashed", InvalidArguments = "invalid_arguments",
    ProtocolViolation = "protocol_violation", Timeout = "timeout", Unavailable = "unavailable",
    UnknownTool = "unknown_tool",
}

impl ToolFailure {
    /// A failure that certainly did not run the tool.
    #[must_use]
    pub fn not_sent(kind: ToolFailureKind, message: impl Into<String>) -> Self {
        Self {
            disposition: Disposition::NotSent,
            kind,
            message: message.into(),
        }
    }

    /// A failure after which the tool's effect is unknown.
    #[must_use]
    pub fn unknown(kind: ToolFailureKind, message: impl Into<String>) -> Self {
        Self {
            disposition: Disposition::Unknown,
            kind,
            message: message.into(),
        }
    }
}
