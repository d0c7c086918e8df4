//! Serving: a dialect as the language of a server, whatever provider is asked behind it.
//!
//! One turn has one reply for its client, however many rounds it takes: the rounds come as the pieces of
//! one reply, numbered on, and an encoder writes them as they come. Tools that Jackfield itself ran are
//! calls [by the provider](jackfield_domain::block::RanBy::Provider) there, with an outcome each,
//! and a [`ServerTool`](jackfield_domain::server_tool::ServerTool) on both says which.

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

/// One dialect, as a server speaks it. Pure: no I/O, no clock.
pub trait ServeDialect: fmt::Debug + Send + Sync {
    /// Its name, such as `claude`.
    fn name(&self) -> &'static str;

    /// What a client asks. `header` gives the value of a header by its name in lower case. The ids of
    /// the client's calls are kept as those of the owner that `owner` gives for the model that it names.
    ///
    /// # Errors
    ///
    /// [`ServeError`] for what is no request of this dialect, and for what would be ignored in silence
    /// otherwise: a beta or a field that makes a server act and that Jackfield does not serve.
    fn request(
        &self,
        header: &dyn Fn(&str) -> Option<String>,
        body: &[u8],
        owner: &dyn Fn(&str) -> StateOwner,
    ) -> Result<Incoming, ServeError>;

    /// The body of a reply that is told whole, and notes on what is lost or changed by it.
    fn reply(&self, reply: &Reply, about: &About) -> (Vec<u8>, Vec<Note>);

    /// What writes a reply as events.
    fn encoder(&self, about: &About) -> Box<dyn EncodeReply>;

    /// The answer to what is refused, or has failed before anything of a stream was written.
    fn error(&self, error: &ServeError, request_id: &str) -> Refused;

    /// Whether it has a form for tools that the server runs, so that they can be shown.
    fn shows_server_tools(&self) -> bool {
        true
    }
}

/// Writes one reply of a turn as events, piece by piece.
pub trait EncodeReply: Send {
    /// What comes before any piece. Whoever calls this first has it out early; otherwise it comes with
    /// the first piece.
    fn begin(&mut self) -> Vec<SseEvent>;

    /// The events for a piece; `call` is our id of the call that begins with it.
    fn push(&mut self, delta: &Delta, call: Option<&ToolCallId>) -> Vec<SseEvent>;

    /// A try at the reply is asked for again, of which nothing was pushed here, and of which the client may
    /// have some from before. Says whether it can be told the new try behind what it has.
    fn asked_again(&mut self) -> bool {
        true
    }

    /// What says nothing but that the connection lives, as it stands on the wire: an event of the
    /// dialect, or a comment where it has none that every client passes over.
    fn keep_alive(&mut self) -> String;

    /// The last events of a reply that is whole.
    fn finish(self: Box<Self>, end: &ReplyEnd) -> Vec<SseEvent>;

    /// The last events of a reply that broke off.
    fn fail(self: Box<Self>, error: &ServeError, request_id: &str) -> Vec<SseEvent>;
}

/// What a reply says of itself besides its content.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct About {
    /// When its request came, in seconds since 1970.
    pub created: u64,
    /// The dialect in which its provider is asked, where that is known. What comes in another one than the
    /// client's has no ids of its own, so that they may be made up early.
    pub dialect: Option<Arc<str>>,
    /// What the request said that its reply repeats or that shapes it, as [`Incoming::echo`] has it.
    pub echo: Map<String, Value>,
    /// The part of its id behind the dialect's prefix: letters, digits and `_`.
    pub id: String,
    /// The model, by the client's name for it.
    pub model: String,
}

/// An answer with an error, in the dialect's own form.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Refused {
    /// The body, JSON.
    pub body: Vec<u8>,
    /// When to come again, where that is known.
    pub retry_after: Option<Duration>,
    /// The HTTP status.
    pub status: u16,
}

/// Why a request gets no reply.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{message}")]
pub struct ServeError {
    /// What it is.
    pub kind: ServeErrorKind,
    /// What happened and what to do, for a person.
    pub message: String,
    /// Where in the request, such as `messages.0.content`, if it is about one place.
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

    /// The same, about this place in the request.
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

/// What kind of error it is. Each dialect has its own status, type and code for each.
#[derive(Clone, Debug, PartialEq)]
pub enum ServeErrorKind {
    /// The session is at work on another turn.
    Busy,
    /// The turn was cancelled.
    Cancelled,
    /// The results of the client's tools did not come in time.
    ClientExpired,
    /// It contradicts what was said before: another result for a call that has one, another body under
    /// an idempotency key.
    Conflict,
    /// The caller may not do this.
    Forbidden,
    /// Jackfield itself failed.
    Internal,
    /// The request is no request of this dialect, or breaks a rule.
    Invalid,
    /// A limit of the turn was met, and that is to be an error.
    LimitReached,
    /// The model could not be asked, or failed.
    Model(Box<ModelFailure>),
    /// The address has nothing behind it, or not for this method.
    NoSuchAddress,
    /// There is no such model.
    NoSuchModel,
    /// There is no such reply to go on from, look at or delete.
    NoSuchReply,
    /// There is no such session.
    NoSuchSession,
    /// A result is for a call that nobody knows.
    NoSuchCall,
    /// Results are missing for calls that the same reply made.
    ResultsMissing,
    /// What the request says cannot be said to the provider, and `strict` refuses that.
    Strict,
    /// It would have the server keep the conversation as a thread; the client can send all of it instead.
    ThreadUnsupported,
    /// There are too many requests; the advice is in seconds.
    TooMany {
        /// When to come again.
        retry_after: u64,
    },
    /// The body, a header or a list is too large.
    TooLarge,
    /// The request did not come in time.
    TooSlow,
    /// No token, or a wrong one.
    Unauthenticated,
    /// Nothing can be served now; it may be later.
    Unavailable,
    /// It names a thing that Jackfield does not serve.
    Unsupported,
    /// Its body is compressed in a way that is not read.
    UnsupportedEncoding,
}

impl ServeErrorKind {
    /// Jackfield's own word for it, the same in every dialect, for programs.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Busy => "session_busy",
            Self::Cancelled => "turn_cancelled",
            Self::ClientExpired => "client_tool_expired",
            Self::Conflict => "conflict",
            Self::Forbidden => "permission_denied",
            Self::Internal => "internal_error",
            Self::Invalid => "invalid_request",
            Self::LimitReached => "limit_reached",
            Self::Model(failure) => match failure.kind {
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
            // The vendor's own code for it, by which its SDKs go on without a thread.
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

    /// Whether the same request may fare better in a while. SDKs go by the status unless they are told,
    /// and send some requests again that would only fail again.
    #[must_use]
    pub fn may_pass_later(&self) -> bool {
        match self {
            Self::Busy
            | Self::Internal
            | Self::TooMany { .. }
            | Self::TooSlow
            | Self::Unavailable => true,
            Self::Model(failure) => failure.advice != RetryAdvice::Never,
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

    /// When to come again, where that is known.
    #[must_use]
    pub const fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Model(failure) => crate::failure::retry_after(failure),
            Self::TooMany { retry_after } => Some(Duration::from_secs(*retry_after)),
            Self::Unavailable => Some(SOON),
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

/// When to come again to what cannot be served now; how long that takes is unknown.
const SOON: Duration = Duration::from_secs(1);
