//! Serving: a dialect as a server's API, for any provider behind it.
//!
//! One turn has one reply for its client, regardless of its rounds: their deltas form one reply with consecutive
//! indices, and an encoder writes them as they arrive. Server tool calls are calls [by the
//! provider](jackfield_domain::block::RanBy::Provider) there, with an outcome each, and a
//! [`ServerTool`](jackfield_domain::server_tool::ServerTool) on both names the tool.

mod error_kinds;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::delta::Delta;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, RetryAdvice};
use jackfield_domain::ids::ToolCallId;
use jackfield_domain::note::Note;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::reply::{Reply, ReplyEnd};
use serde_json::{Map, Value};
use thiserror::Error;

use crate::encode::SseEvent;
use crate::incoming::Incoming;

/// The name under which a dialect gets the path and the query of a request, as if they were a header: that of HTTP/2
/// (RFC 9113, section 8.3.1).
pub const ADDRESS: &str = ":path";

/// One dialect of a server. Pure: no I/O, no clock.
pub trait ServeDialect: fmt::Debug + Send + Sync {
    /// Its name, such as `claude`.
    fn name(&self) -> &'static str;

    /// Parses a client's request. `header` returns the value of a header by its lower-case name, and under
    /// [`ADDRESS`] the path and the query of the request, without a secret. The ids of the client's calls are kept as opaque state of the owner that `owner` returns for the requested model.
    ///
    /// # Errors
    ///
    /// [`ServeError`] for a request that is invalid in this dialect, and for one that would be silently ignored
    /// otherwise: a beta or a field that makes a server act and that Jackfield does not support.
    fn request(
        &self,
        header: &dyn Fn(&str) -> Option<String>,
        body: &[u8],
        owner: &dyn Fn(&str) -> StateOwner,
    ) -> Result<Incoming, ServeError>;

    /// The body of a whole reply, and notes on what is lost or changed.
    fn reply(&self, reply: &Reply, about: &ReplyInfo) -> (Vec<u8>, Vec<Note>);

    /// The encoder of a streamed reply.
    fn encoder(&self, about: &ReplyInfo) -> Box<dyn EncodeReply>;

    /// The response to a request that is refused, or fails before the first event of a stream.
    fn error(&self, error: &ServeError, request_id: &str) -> ErrorResponse;

    /// Whether it has a form for server tool calls, so that they can be shown.
    fn shows_server_tools(&self) -> bool {
        true
    }
}

/// Writes one reply of a turn as events, delta by delta.
pub trait EncodeReply: Send {
    /// The events before the first delta. Call this first to send them early; otherwise they come with the first
    /// delta.
    fn begin(&mut self) -> Vec<SseEvent>;

    /// The events for a delta; `call` is our id of the call that begins with it.
    fn push(&mut self, delta: &Delta, call: Option<&ToolCallId>) -> Vec<SseEvent>;

    /// Marks a retry of the reply after an attempt whose deltas were not pushed here, but some of which the client
    /// may have. Returns whether the new attempt can follow what the client has.
    fn restart(&mut self) -> bool {
        true
    }

    /// A keep-alive in its wire form: an event of the dialect, or a comment if it has no event that every client
    /// ignores.
    fn keep_alive(&mut self) -> String;

    /// The last events of a complete reply.
    fn finish(self: Box<Self>, end: &ReplyEnd) -> Vec<SseEvent>;

    /// The last events of an interrupted reply.
    fn fail(self: Box<Self>, error: &ServeError, request_id: &str) -> Vec<SseEvent>;
}

/// Properties of a reply other than its content.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplyInfo {
    /// The time of its request, in seconds since 1970.
    pub created: u64,
    /// The provider's dialect, if known. Items of a reply in another dialect than the client's have no ids of their
    /// own, so they can be generated early.
    pub dialect: Option<Arc<str>>,
    /// The request fields that the reply repeats or that shape it: see [`Incoming::echo`].
    pub echo: Map<String, Value>,
    /// Its id without the dialect's prefix: letters, digits and `_`.
    pub id: String,
    /// The model, by the client's name for it.
    pub model: String,
}

/// An error response in the dialect's form.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ErrorResponse {
    /// The body, JSON.
    pub body: Vec<u8>,
    /// The delay before a retry, if known.
    pub retry_after: Option<Duration>,
    /// The HTTP status.
    pub status: u16,
}

/// Why a request gets no reply.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{message}")]
pub struct ServeError {
    /// The kind of the error.
    pub kind: ServeErrorKind,
    /// The error and what to do, for a person.
    pub message: String,
    /// The place in the request, such as `messages.0.content`, if the error concerns one.
    pub param: Option<String>,
}

impl ServeError {
    /// An error of this kind.
    #[must_use]
    pub fn new(kind: ServeErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            param: None,
        }
    }

    /// Sets the place in the request.
    #[must_use]
    pub fn at(mut self, param: impl Into<String>) -> Self {
        self.param = Some(param.into());
        self
    }
}

impl From<crate::incoming::Invalid> for ServeError {
    fn from(invalid: crate::incoming::Invalid) -> Self {
        Self::new(ServeErrorKind::Invalid, invalid.to_string()).at(invalid.path)
    }
}

/// The kind of an error. Each dialect maps it to a status, type and code.
#[derive(Clone, Debug, PartialEq)]
pub enum ServeErrorKind {
    /// The session has another open turn.
    Busy,
    /// The turn was cancelled.
    Cancelled,
    /// The results of the client tools did not arrive in time.
    ClientExpired,
    /// It contradicts an earlier request: another result for a call that has one, or another body with the same
    /// idempotency key.
    Conflict,
    /// No target of the route answered.
    Exhausted {
        /// The delay before a retry, in seconds.
        retry_after: u64,
    },
    /// The caller lacks the permission.
    Forbidden,
    /// Jackfield itself failed.
    Internal,
    /// The request is invalid in this dialect, or breaks a rule.
    Invalid,
    /// A limit of the turn was reached, and that is to be an error.
    LimitReached,
    /// The model could not be called, or failed.
    Model(Box<ModelFailure>),
    /// There is no such route, or not for this method.
    NoSuchAddress,
    /// There is no such model.
    NoSuchModel,
    /// There is no such reply to continue, retrieve or delete.
    NoSuchReply,
    /// There is no such session.
    NoSuchSession,
    /// A result is for an unknown call.
    NoSuchCall,
    /// Results are missing for other calls of the same reply.
    ResultsMissing,
    /// The request cannot be fully mapped for the provider, and `strict` forbids losses.
    Strict,
    /// It wants the server to store the conversation as a thread; the client can send the whole conversation
    /// instead.
    ThreadUnsupported,
    /// There are too many requests.
    TooMany {
        /// The delay before a retry, in seconds.
        retry_after: u64,
    },
    /// The body, a header or a list is too large.
    TooLarge,
    /// The request took too long to arrive.
    TooSlow,
    /// The token is missing or wrong.
    Unauthenticated,
    /// No request can be served now; a later one may be.
    Unavailable,
    /// It names a feature that Jackfield does not support.
    Unsupported,
    /// Its body has a content encoding or a type that is not read.
    UnsupportedEncoding,
}

impl ServeErrorKind {
    /// Jackfield's own code for it, the same in every dialect, for programs.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Busy => "session_busy",
            Self::Cancelled => "turn_cancelled",
            Self::ClientExpired => "client_tool_expired",
            Self::Conflict => "conflict",
            Self::Exhausted { .. } => "route_exhausted",
            Self::Forbidden => "permission_denied",
            Self::Internal => "internal_error",
            Self::Invalid => "invalid_request",
            Self::LimitReached => "limit_reached",
            Self::Model(failure) => match failure.kind {
                ModelFailureKind::BudgetExhausted => "budget_exhausted",
                ModelFailureKind::BudgetUnavailable => "budget_unavailable",
                ModelFailureKind::ContentFilter => "content_filter",
                ModelFailureKind::ContextTooLong { .. } => "context_too_long",
                ModelFailureKind::Forbidden => "provider_refuses_access",
                ModelFailureKind::Interrupted => "provider_broke_off",
                ModelFailureKind::InvalidRequest => "provider_refuses_request",
                ModelFailureKind::ModelNotFound => "model_not_found",
                ModelFailureKind::Overloaded => "provider_overloaded",
                ModelFailureKind::ProtocolViolation => "provider_not_understood",
                ModelFailureKind::RateLimited => "provider_rate_limit",
                ModelFailureKind::ServerError => "provider_failed",
                ModelFailureKind::Timeout => "provider_timeout",
                ModelFailureKind::TooLarge => "request_too_large",
                ModelFailureKind::ToolsUnsupported => "tools_not_supported",
                ModelFailureKind::Transport => "provider_unreachable",
                ModelFailureKind::Unauthenticated => "provider_refuses_key",
                ModelFailureKind::Unsupported => "not_supported_by_provider",
                ModelFailureKind::UnusableReply => "provider_reply_unusable",
            },
            Self::NoSuchAddress => "address_not_found",
            Self::NoSuchCall => "call_not_found",
            Self::NoSuchModel => "model_not_found",
            Self::NoSuchReply => "reply_not_found",
            Self::NoSuchSession => "session_not_found",
            Self::ResultsMissing => "results_missing",
            Self::Strict => "lost_in_translation",
            // The vendor's own code, on which its SDKs continue without a thread.
            Self::ThreadUnsupported => "thread_unsupported_request",
            Self::TooLarge => "request_too_large",
            Self::TooMany { .. } => "too_many_requests",
            Self::TooSlow => "request_timeout",
            Self::Unauthenticated => "authentication_required",
            Self::Unavailable => "unavailable",
            Self::Unsupported => "not_supported",
            Self::UnsupportedEncoding => "unsupported_encoding",
        }
    }

    /// Whether a retry may succeed later. By default SDKs decide by the status, and retry some requests that would
    /// only fail again.
    #[must_use]
    pub fn may_pass_later(&self) -> bool {
        match self {
            Self::Busy
            | Self::Exhausted { .. }
            | Self::Internal
            | Self::TooMany { .. }
            | Self::TooSlow
            | Self::Unavailable => true,
            // The end of a day or a month is not worth a wait.
            Self::Model(failure) => {
                failure.advice != RetryAdvice::Never
                    && failure.kind != ModelFailureKind::BudgetExhausted
            }
            Self::Cancelled
            | Self::ClientExpired
            | Self::Conflict
            | Self::Forbidden
            | Self::Invalid
            | Self::LimitReached
            | Self::NoSuchAddress
            | Self::NoSuchCall
            | Self::NoSuchModel
            | Self::NoSuchReply
            | Self::NoSuchSession
            | Self::ResultsMissing
            | Self::Strict
            | Self::ThreadUnsupported
            | Self::TooLarge
            | Self::Unauthenticated
            | Self::Unsupported
            | Self::UnsupportedEncoding => false,
        }
    }

    /// The delay before a retry, if known.
    #[must_use]
    pub const fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Model(failure) => crate::failure::retry_after(failure),
            Self::Exhausted { retry_after } | Self::TooMany { retry_after } => {
                Some(Duration::from_secs(*retry_after))
            }
            Self::Unavailable => Some(RETRY_DELAY),
            Self::Busy
            | Self::Cancelled
            | Self::ClientExpired
            | Self::Conflict
            | Self::Forbidden
            | Self::Internal
            | Self::Invalid
            | Self::LimitReached
            | Self::NoSuchAddress
            | Self::NoSuchCall
            | Self::NoSuchModel
            | Self::NoSuchReply
            | Self::NoSuchSession
            | Self::ResultsMissing
            | Self::Strict
            | Self::ThreadUnsupported
            | Self::TooLarge
            | Self::TooSlow
            | Self::Unauthenticated
            | Self::Unsupported
            | Self::UnsupportedEncoding => None,
        }
    }
}

/// The delay for a request that cannot be served now; the actual time is unknown.
const RETRY_DELAY: Duration = Duration::from_secs(1);
