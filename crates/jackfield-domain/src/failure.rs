//! Failures that the loop decides about: of model calls, and of tool calls.

use std::sync::Arc;
use std::time::Duration;

/// A model call that failed, as the adapter classified it. Adapters never retry.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ModelFailure {
    /// What the provider or the transport advises.
    pub advice: RetryAdvice,
    /// What happened.
    pub kind: ModelFailureKind,
    /// For a person: one sentence with the cause and, if known, the way out. No secrets.
    pub message: String,
    /// How far the call had come.
    pub phase: Phase,
    /// The provider's own id of the request, if it gave one.
    pub request_id: Option<Arc<str>>,
}

/// What happened to a model call.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum ModelFailureKind {
    /// The request is longer than the model's context.
    ContextTooLong {
        /// How many tokens fit, if known.
        limit: Option<u64>,
        /// How many tokens the request has, if known.
        requested: Option<u64>,
    },
    /// The key is not allowed to do this, or the account is out of money.
    Forbidden,
    /// The connection broke, or the stream ended without its ending.
    Interrupted,
    /// The provider does not accept the request.
    InvalidRequest,
    /// The provider has no such model.
    ModelNotFound,
    /// The provider has too much to do.
    Overloaded,
    /// The provider's answer is not in its own language.
    ProtocolViolation,
    /// Too many requests.
    RateLimited,
    /// The provider is broken for now.
    ServerError,
    /// The provider did not answer, or said nothing for too long.
    Timeout,
    /// The request has more bytes than the provider takes.
    TooLarge,
    /// The provider cannot be reached.
    Transport,
    /// The key is missing or wrong.
    Unauthenticated,
    /// The dialect cannot say this, or the adapter cannot do it.
    Unsupported,
    /// The model wrote a reply that its provider cannot read, such as a tool call without a form. Another try at
    /// the same request may be readable.
    UnusableReply,
}

/// How far a model call had come when it failed.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Phase {
    /// Proved not to have reached the provider.
    BeforeSend,
    /// Sent, or perhaps sent; nothing has come back.
    BeforeFirstDelta,
    /// In the middle of the reply.
    MidReply,
}

/// What whoever failed advises about trying again.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum RetryAdvice {
    /// After this long, as the server says.
    After(Duration),
    /// After a pause that grows.
    Backoff,
    /// It would fail again.
    Never,
}

impl ModelFailureKind {
    /// The advice where the provider gives none.
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
            Self::ContextTooLong { .. }
            | Self::Forbidden
            | Self::InvalidRequest
            | Self::ModelNotFound
            | Self::ProtocolViolation
            | Self::TooLarge
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

    /// Whether the provider may have worked on the call, and may want money for it. One that it
    /// refused cost nothing.
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
                // Whatever answered is not the provider.
                ModelFailureKind::ContextTooLong { .. }
                | ModelFailureKind::Forbidden
                | ModelFailureKind::InvalidRequest
                | ModelFailureKind::ModelNotFound
                | ModelFailureKind::Overloaded
                | ModelFailureKind::ProtocolViolation
                | ModelFailureKind::RateLimited
                | ModelFailureKind::ServerError
                | ModelFailureKind::TooLarge
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
    /// What happened.
    pub kind: ToolFailureKind,
    /// For the model and for a person: one sentence. No secrets.
    pub message: String,
}

/// What is known of a call that ended without an outcome.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Disposition {
    /// It took effect; only its outcome is lost. Never run again.
    Landed,
    /// Proved not to have been run.
    NotSent,
    /// Nobody knows whether it took effect.
    Unknown,
}

/// What happened to a tool call.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum ToolFailureKind {
    /// The turn was cancelled.
    Cancelled,
    /// The process that ran it ended.
    Crashed,
    /// The arguments do not follow the tool's schema.
    InvalidArguments,
    /// The tool's server spoke nonsense.
    ProtocolViolation,
    /// It took longer than it may.
    Timeout,
    /// The tool's server cannot be reached, or went away.
    Unavailable,
    /// There is no such tool any more.
    UnknownTool,
}

impl ToolFailure {
    /// A failure that is proved not to have run the tool.
    #[must_use]
    pub fn not_sent(kind: ToolFailureKind, message: impl Into<String>) -> Self {
        Self {
            disposition: Disposition::NotSent,
            kind,
            message: message.into(),
        }
    }

    /// A failure after which nobody knows what the tool did.
    #[must_use]
    pub fn unknown(kind: ToolFailureKind, message: impl Into<String>) -> Self {
        Self {
            disposition: Disposition::Unknown,
            kind,
            message: message.into(),
        }
    }
}
