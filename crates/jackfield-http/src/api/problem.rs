//! Problem documents, the error responses of the API (RFC 9457).
//!
//! Programs use `type`, which is one of a few stable values; people read `detail`.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::response::{IntoResponse, Response};
use http::header::{CONNECTION, CONTENT_TYPE};
use http::{HeaderValue, StatusCode};
use jackfield_dialect_kit::serve::{ServeError, ServeErrorKind};
use jackfield_domain::fact::TurnEnd;
use jackfield_domain::failure::ModelFailureKind;
use jackfield_domain::ids::{SessionId, ToolCallId, TurnId};
use jackfield_engine::{EngineError, JournalError};
use jackfield_gateway::failures::{self, log};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::openapi::{Content, Ref, RefOr, Response as Described, ResponseBuilder};
use utoipa::{IntoResponses, ToSchema};

use crate::access::RefusalCode;
use crate::retry_headers;

/// An error of the API.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ProblemDetails {
    detail: String,
    /// Extra fields of this kind of problem.
    extra: Map<String, Value>,
    kind: ProblemKind,
    retry_after: Option<Duration>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum ProblemKind {
    /// A turn is in progress in the session.
    Busy,
    /// The request contradicts an earlier one.
    Conflict,
    /// The client may not do this.
    Forbidden,
    /// An internal error of the gateway.
    Internal,
    /// The request is malformed or breaks a rule.
    Invalid,
    /// The model does not exist.
    NoSuchModel,
    /// The resource does not exist, or not for this client.
    NotFound,
    /// The path does not support this method.
    MethodNotAllowed,
    /// The question is already answered, or was withdrawn.
    Closed,
    ResultsMissing,
    /// A part of the request is too large.
    TooLarge,
    /// The client sends too many requests.
    TooMany,
    /// The request did not arrive in time.
    TooSlow,
    /// The token is missing or wrong.
    Unauthenticated,
    /// The gateway cannot serve requests now.
    Unavailable,
    /// The body has a media type other than JSON, or an unsupported encoding.
    UnsupportedMediaType,
}

impl ProblemKind {
    /// The last part of its `type`.
    pub(crate) const fn code(self) -> &'static str {
        match self {
            Self::Busy => "busy",
            Self::Closed => "closed",
            Self::Conflict => "conflict",
            Self::Forbidden => "forbidden",
            Self::Internal => "internal",
            Self::Invalid => "invalid",
            Self::MethodNotAllowed => "method_not_allowed",
            Self::NoSuchModel => "no_such_model",
            Self::NotFound => "not_found",
            Self::ResultsMissing => "results_missing",
            Self::TooLarge => "too_large",
            Self::TooMany => "too_many",
            Self::TooSlow => "too_slow",
            Self::Unauthenticated => "unauthenticated",
            Self::Unavailable => "unavailable",
            Self::UnsupportedMediaType => "unsupported_media_type",
        }
    }

    const fn status(self) -> StatusCode {
        match self {
            Self::Busy | Self::Closed | Self::Conflict => StatusCode::CONFLICT,
            Self::Forbidden => StatusCode::FORBIDDEN,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Invalid | Self::ResultsMissing => StatusCode::BAD_REQUEST,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::NoSuchModel | Self::NotFound => StatusCode::NOT_FOUND,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooMany => StatusCode::TOO_MANY_REQUESTS,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::Unauthenticated => StatusCode::UNAUTHORIZED,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Self::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Self::Busy => "The session is at work on a turn",
            Self::Closed => "That is answered or over",
            Self::Conflict => "That contradicts what was said before",
            Self::Forbidden => "That is not allowed",
            Self::Internal => "The gateway failed",
            Self::Invalid => "The request is not valid",
            Self::MethodNotAllowed => "The address does not take this method",
            Self::NoSuchModel => "There is no such model",
            Self::NotFound => "There is no such thing",
            Self::ResultsMissing => "Results are missing",
            Self::TooLarge => "The request is too large",
            Self::TooMany => "There are too many requests",
            Self::TooSlow => "The request did not come in time",
            Self::Unauthenticated => "A token is needed",
            Self::Unavailable => "Nothing can be served now",
            Self::UnsupportedMediaType => "The body is not readable JSON by its headers",
        }
    }
}

/// A problem document, as it is written.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Problem)]
pub(crate) struct ProblemView {
    /// Which problem it is: `urn:jackfield:problem:` and a word that never changes.
    #[serde(rename = "type")]
    #[schema(example = "urn:jackfield:problem:invalid")]
    kind: String,
    /// The same in a few words.
    title: &'static str,
    /// The HTTP status.
    status: u16,
    /// What happened and what to do.
    detail: String,
    /// The field of the request that it is about, as a JSON Pointer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pointer: Option<Value>,
    #[serde(flatten)]
    #[schema(ignore)]
    more: Map<String, Value>,
}

/// How every path may answer instead of what it is for, as the document of the API says it.
pub(crate) struct Problems;

impl IntoResponses for Problems {
    fn responses() -> BTreeMap<String, RefOr<Described>> {
        let descriptions = [
            ("4XX", "What was asked for is not done."),
            ("5XX", "It cannot be done now."),
        ];
        let described = |(status, description): (&str, &str)| {
            let document = Content::new(Some(Ref::from_schema_name("Problem")));
            let described = ResponseBuilder::new()
                .description(description)
                .content(MEDIA_TYPE, document);
            (status.to_owned(), described.build().into())
        };
        descriptions.map(described).into()
    }
}

impl ProblemDetails {
    /// Whether the client is not accepted, or not for this.
    pub(crate) const fn is_refusal(&self) -> bool {
        matches!(
            self.kind,
            ProblemKind::Forbidden | ProblemKind::Unauthenticated
        )
    }

    pub(crate) fn new(kind: ProblemKind, detail: impl Into<String>) -> Self {
        Self {
            detail: detail.into(),
            extra: Map::new(),
            kind,
            retry_after: None,
        }
    }

    /// An invalid field; its place is a JSON Pointer (RFC 6901).
    pub(crate) fn field(place: impl Into<String>, why: impl Into<String>) -> Self {
        let (place, why) = (place.into(), why.into());
        let detail = match place.as_str() {
            // The whole document.
            "" => format!("the body: {why}"),
            _ => format!("{place}: {why}"),
        };
        Self::new(ProblemKind::Invalid, detail).with("pointer", place)
    }

    pub(crate) fn parameter(name: &str, why: impl Into<String>) -> Self {
        let why = why.into();
        Self::new(ProblemKind::Invalid, format!("{name}: {why}")).with("parameter", name)
    }

    /// The error for a session with a turn in progress.
    pub(crate) fn busy(session: &SessionId, turn: &TurnId) -> Self {
        let detail = format!(
            "session {session} is at work on turn {turn}: wait until it is over, or cancel it"
        );
        Self::new(ProblemKind::Busy, detail).with("turn", turn.as_str())
    }

    /// The error for a session that does not exist for the client.
    pub(crate) fn no_session(id: &str) -> Self {
        let id: String = id.chars().take(SessionId::MAX).collect();
        let detail = format!(
            "there is no session `{id}`; `GET /api/v1/sessions` lists those that there are"
        );
        Self::new(ProblemKind::NotFound, detail)
    }

    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.extra.insert(name.to_owned(), value.into());
        self
    }

    /// Sets the time to wait before a retry.
    pub(crate) const fn retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    /// What is wrong, in a sentence.
    pub(crate) fn detail(self) -> String {
        self.detail
    }

    /// The document as JSON on one line.
    pub(crate) fn into_json(self) -> String {
        let Self {
            detail,
            extra: mut more,
            kind,
            ..
        } = self;
        let document = ProblemView {
            kind: format!("{TYPE}{}", kind.code()),
            title: kind.title(),
            status: kind.status().as_u16(),
            detail,
            pointer: more.shift_remove("pointer"),
            more,
        };
        serde_json::to_string(&document).unwrap_or_default()
    }
}

impl IntoResponse for ProblemDetails {
    fn into_response(self) -> Response {
        let (kind, status, retry_after) = (self.kind, self.kind.status(), self.retry_after);
        let body = self.into_json();
        let mut response = (status, body).into_response();
        response.extensions_mut().insert(RefusalCode(kind.code()));
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
        if matches!(kind, ProblemKind::TooLarge | ProblemKind::TooSlow) {
            // The rest of the request body is not read.
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        if let Some(wait) = retry_after {
            retry_headers::insert(headers, wait);
        }
        response
    }
}

impl From<ServeError> for ProblemDetails {
    fn from(error: ServeError) -> Self {
        let ServeError {
            kind,
            message,
            param,
        } = error;
        let wait = kind.retry_after();
        let kind = match kind {
            ServeErrorKind::Busy => ProblemKind::Busy,
            ServeErrorKind::Cancelled
            | ServeErrorKind::ClientExpired
            | ServeErrorKind::LimitReached => ProblemKind::Closed,
            ServeErrorKind::Conflict => ProblemKind::Conflict,
            ServeErrorKind::Forbidden => ProblemKind::Forbidden,
            ServeErrorKind::Internal => ProblemKind::Internal,
            ServeErrorKind::Invalid
            | ServeErrorKind::Strict
            | ServeErrorKind::ThreadUnsupported
            | ServeErrorKind::Unsupported => ProblemKind::Invalid,
            ServeErrorKind::Model(failure) if failure.kind == ModelFailureKind::BudgetExhausted => {
                ProblemKind::TooMany
            }
            ServeErrorKind::Exhausted { .. }
            | ServeErrorKind::Model(_)
            | ServeErrorKind::Unavailable => ProblemKind::Unavailable,
            ServeErrorKind::NoSuchAddress
            | ServeErrorKind::NoSuchCall
            | ServeErrorKind::NoSuchReply
            | ServeErrorKind::NoSuchSession => ProblemKind::NotFound,
            ServeErrorKind::NoSuchModel => ProblemKind::NoSuchModel,
            ServeErrorKind::ResultsMissing => ProblemKind::ResultsMissing,
            ServeErrorKind::TooLarge => ProblemKind::TooLarge,
            ServeErrorKind::TooMany { .. } => ProblemKind::TooMany,
            ServeErrorKind::TooSlow => ProblemKind::TooSlow,
            ServeErrorKind::Unauthenticated => ProblemKind::Unauthenticated,
            ServeErrorKind::UnsupportedEncoding => ProblemKind::UnsupportedMediaType,
        };
        let mut problem = Self::new(kind, message);
        if let Some(place) = param {
            problem = problem.with("pointer", format!("/{}", place.replace('.', "/")));
        }
        match wait {
            Some(wait) => problem.retry_after(wait),
            None => problem,
        }
    }
}

impl From<EngineError> for ProblemDetails {
    fn from(error: EngineError) -> Self {
        let detail = error.to_string();
        match error {
            EngineError::Busy { turn, .. } => {
                let detail = format!(
                    "{detail}; a message may be posted with `if_busy` as `queue` or `cancel`"
                );
                Self::new(ProblemKind::Busy, detail).with("turn", turn.as_str())
            }
            EngineError::LeftOpen { session, turn } => {
                let detail = format!(
                    "session {session} has a turn that its process left ({turn}); it is taken up by itself: \
                     come again, or cancel it"
                );
                Self::new(ProblemKind::Busy, detail)
                    .with("turn", turn.as_str())
                    .retry_after(Duration::from_secs(1))
            }
            EngineError::Draining => {
                Self::new(ProblemKind::Unavailable, detail).retry_after(Duration::from_secs(1))
            }
            EngineError::Exists { .. } => Self::new(ProblemKind::Conflict, detail),
            EngineError::ForeignCursor(_) => Self::parameter("Last-Event-ID", detail),
            EngineError::InvalidConversation(_) => {
                Self::new(ProblemKind::Invalid, jackfield_engine::chain(&error))
            }
            EngineError::Journal(JournalError::UnknownSession { session }) => {
                Self::no_session(session.as_str())
            }
            EngineError::Journal(JournalError::Held { .. } | JournalError::Owned { .. }) => {
                Self::new(ProblemKind::Busy, detail)
            }
            EngineError::Journal(JournalError::Newer { .. }) => {
                Self::new(ProblemKind::Conflict, detail)
            }
            EngineError::Journal(_) => Self::unavailable(&error),
            EngineError::NoSuchCall { calls, .. } => {
                Self::new(ProblemKind::NotFound, detail).with("calls", ids(&calls))
            }
            EngineError::NotWaiting { calls, .. } => {
                Self::new(ProblemKind::Closed, detail).with("calls", ids(&calls))
            }
            EngineError::ResultConflict { calls, .. } => {
                Self::new(ProblemKind::Conflict, detail).with("calls", ids(&calls))
            }
            EngineError::ResultsMissing { calls, .. } => {
                Self::new(ProblemKind::ResultsMissing, detail).with("calls", ids(&calls))
            }
            EngineError::NoSuchPlace { .. } => Self::field("/turn", detail),
            EngineError::NotCommitted { .. } | EngineError::OwnershipLost { .. } => {
                Self::unavailable(&error)
            }
            EngineError::NotCompacted { failure } if failure.is_of_budget() => {
                failures::from_turn_end(&TurnEnd::Failed(failure)).into()
            }
            EngineError::NotCompacted { .. } => Self::new(ProblemKind::Unavailable, detail),
            EngineError::NothingToCompact { .. } => Self::new(ProblemKind::Conflict, detail),
            EngineError::NothingOpen { .. } => Self::new(ProblemKind::Closed, detail),
            EngineError::Parked { .. } => Self::new(ProblemKind::Conflict, detail),
            EngineError::UnknownProvider { .. } => {
                Self::new(ProblemKind::NoSuchModel, detail).with("pointer", "/model")
            }
            EngineError::Unpriced { .. } => Self::field("/model", detail),
            EngineError::UnknownTool { .. } => Self::new(ProblemKind::NotFound, detail),
            EngineError::NoSuchTurn { .. } => Self::new(ProblemKind::NotFound, detail),
            EngineError::NoEphemeralJournal | _ => Self::internal(&error),
        }
    }
}

impl ProblemDetails {
    /// An internal error. The cause is logged, and not sent to the client.
    fn internal(error: &EngineError) -> Self {
        log(error, "a request of the API failed");
        Self::new(
            ProblemKind::Internal,
            "the gateway failed; its log says why",
        )
    }

    /// The error for a failing journal.
    fn unavailable(error: &EngineError) -> Self {
        log(error, "the journal fails");
        let detail = "the journal cannot be read or written now: come again";
        Self::new(ProblemKind::Unavailable, detail).retry_after(Duration::from_secs(1))
    }
}

fn ids(calls: &[ToolCallId]) -> Vec<String> {
    calls.iter().map(ToString::to_string).collect()
}

/// The prefix of every `type`.
const TYPE: &str = "urn:jackfield:problem:";
/// The media type of a problem document.
pub(crate) const MEDIA_TYPE: &str = "application/problem+json";
