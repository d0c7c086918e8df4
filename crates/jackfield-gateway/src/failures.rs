//! Translates internal errors into the errors that clients see.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use jackfield_dialect_kit::serve::{ServeError, ServeErrorKind};
use jackfield_domain::fact::TurnEnd;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, RetryAdvice};
use jackfield_domain::ids::ToolCallId;
use jackfield_domain::locate::ResultsRefused;
use jackfield_engine::{DirectoryError, EngineError, JournalError, chain};

use crate::matcher::MatchError;

/// The client's error for an error of the engine. Errors that only an operator can fix are logged.
pub fn from_engine_error(error: &EngineError) -> ServeError {
    let kind = match error {
        EngineError::Busy { .. } | EngineError::LeftOpen { .. } => ServeErrorKind::Busy,
        EngineError::Journal(JournalError::UnknownSession { .. }) => ServeErrorKind::NoSuchSession,
        EngineError::NoSuchTurn { .. } => ServeErrorKind::NoSuchReply,
        EngineError::NoSuchCall { .. } => ServeErrorKind::NoSuchCall,
        EngineError::NotWaiting { .. } | EngineError::ResultConflict { .. } => {
            ServeErrorKind::Conflict
        }
        EngineError::ResultsMissing { .. } => ServeErrorKind::ResultsMissing,
        EngineError::UnknownProvider { .. } => ServeErrorKind::NoSuchModel,
        EngineError::Draining | EngineError::Parked { .. } => ServeErrorKind::Unavailable,
        EngineError::Journal(JournalError::Held { .. } | JournalError::Owned { .. }) => {
            ServeErrorKind::Busy
        }
        EngineError::Journal(JournalError::Unreachable { .. })
        | EngineError::NotCommitted { .. }
        | EngineError::OwnershipLost { .. } => return journal_unavailable(error),
        EngineError::Exists { .. }
        | EngineError::ForeignCursor(_)
        | EngineError::InvalidConversation(_)
        | EngineError::Journal(_)
        | EngineError::NoEphemeralJournal
        | EngineError::NoSuchPlace { .. }
        | EngineError::NothingOpen { .. }
        | EngineError::Unpriced { .. }
        | EngineError::UnknownTool { .. }
        | _ => return internal(error),
    };
    ServeError::new(kind, error.to_string())
}

/// The client's error where the directory cannot be read. No key of it is accepted then.
pub fn from_directory_error(error: &DirectoryError) -> ServeError {
    log(error, "the journal fails");
    let message = "users and keys cannot be read now: come again in a while";
    ServeError::new(ServeErrorKind::Unavailable, message)
}

/// The client's error where the meters of quotas cannot be read or written: no request with a quota is admitted then.
pub fn meters_unavailable(error: &EngineError) -> ServeError {
    log(error, "the journal fails");
    let message = "the limits of this key cannot be checked now: come again in a while";
    ServeError::new(ServeErrorKind::Unavailable, message)
}

/// The client's error for a request that matches no turn.
pub fn from_match_error(error: &MatchError) -> ServeError {
    match error {
        MatchError::Engine(error) => from_engine_error(error),
        MatchError::KeyConflict { .. } => {
            ServeError::new(ServeErrorKind::Conflict, error.to_string())
        }
    }
}

/// The error for refused client results, with the ids of their calls.
pub(crate) fn from_refused_results(refused: ResultsRefused) -> ServeError {
    let (kind, message) = match refused {
        ResultsRefused::Conflict { call } => (
            ServeErrorKind::Conflict,
            format!("the call {call} has another result already, and keeps it"),
        ),
        ResultsRefused::Missing { calls } => {
            let calls: Vec<&str> = calls.iter().map(ToolCallId::as_str).collect();
            let message = format!(
                "results are missing: send those of {} in the same request; the turn waits for them",
                calls.join(", ")
            );
            (ServeErrorKind::ResultsMissing, message)
        }
        ResultsRefused::Unknown { call } => (
            ServeErrorKind::NoSuchCall,
            format!("there is a result for {call}, and the turn made no such call"),
        ),
    };
    ServeError::new(kind, message)
}

/// The client's error when the journal fails. It is retryable: for example, the disk may have space again soon.
/// The client's error where its turn can be told no further. The turn is in the journal, and goes on.
pub fn in_a_turn(error: &EngineError) -> ServeError {
    let mut refused = from_engine_error(error);
    if error.is_journal_failure() {
        let more = "the turn goes on, send the same request again for its reply";
        refused.message = format!("{}: {more}", refused.message);
    }
    refused
}

fn journal_unavailable(error: &EngineError) -> ServeError {
    log(error, "the journal fails");
    let message = "conversations cannot be read or kept now: come again in a while";
    ServeError::new(ServeErrorKind::Unavailable, message)
}

/// The client's error where another process has taken a request with the same idempotency key and begins no turn. It
/// may be lost, and then this one begins the turn once the other's lease has passed.
pub fn begins_elsewhere() -> ServeError {
    let message =
        "another gateway has the request of this idempotency key: send it again in a while";
    ServeError::new(ServeErrorKind::Unavailable, message)
}

/// Logs an error that only an operator can fix, with the id of the current request if there is one.
pub fn log(error: &(dyn Error + 'static), what: &str) {
    let error = chain(error);
    let request = REQUEST.try_with(Clone::clone).ok();
    let request = request.map(tracing::field::display);
    tracing::error!(request, %error, "{what}");
}

/// Logs why a requested provider has no key.
pub fn log_missing_key(provider: &str, why: &str) {
    let request = REQUEST.try_with(Clone::clone).ok();
    let request = request.map(tracing::field::display);
    tracing::warn!(
        request,
        provider,
        why,
        "a provider that is asked has no key"
    );
}

/// Runs the handler of a request with this id as the task-local request id.
pub fn with_request_id<F: Future>(id: &str, answering: F) -> impl Future<Output = F::Output> {
    REQUEST.scope(id.into(), answering)
}

tokio::task_local! {
    /// The id of the current request.
    static REQUEST: Arc<str>;
}

/// The client's error for an internal invariant violation.
pub fn internal(error: &(dyn Error + 'static)) -> ServeError {
    log(error, "a request could not be answered");
    let message = "the gateway could not answer this; its log says why";
    ServeError::new(ServeErrorKind::Internal, message)
}

/// The client's error for a turn that ended without an answer.
pub fn from_turn_end(end: &TurnEnd) -> ServeError {
    let (kind, message) = match end {
        TurnEnd::Answered(_)
        | TurnEnd::Limited {
            is_error: false, ..
        } => (ServeErrorKind::Internal, "the answer is lost".to_owned()),
        TurnEnd::Cancelled(_) => (
            ServeErrorKind::Cancelled,
            "the turn was cancelled".to_owned(),
        ),
        TurnEnd::ClientExpired => (
            ServeErrorKind::ClientExpired,
            "the results of your tools did not come in time; send the conversation again with \
             them, and it goes on from there"
                .to_owned(),
        ),
        TurnEnd::Failed(failure) | TurnEnd::Interrupted(failure) => (
            match short_wait(failure) {
                Some(retry_after) => ServeErrorKind::TooMany { retry_after },
                None => ServeErrorKind::Model(Box::new(failure.clone())),
            },
            provider_message(failure),
        ),
        TurnEnd::Limited {
            is_error: true,
            limit,
        } => (
            ServeErrorKind::LimitReached,
            format!("a limit of the turn was met ({limit:?}), and that is set to be an error"),
        ),
    };
    ServeError::new(kind, message)
}

/// How many seconds to wait, if a budget has nothing left for a moment only: for the client that is a limit of its rate,
/// as what calls in flight have reserved comes back, and the tokens of a minute have room again.
fn short_wait(failure: &ModelFailure) -> Option<u64> {
    match failure.advice {
        RetryAdvice::After(wait)
            if failure.kind == ModelFailureKind::BudgetExhausted && wait <= SHORT_WAIT =>
        {
            Some(
                wait.as_millis()
                    .div_ceil(1000)
                    .max(1)
                    .try_into()
                    .unwrap_or(u64::MAX),
            )
        }
        RetryAdvice::After(_) | RetryAdvice::AtOnce | RetryAdvice::Backoff | RetryAdvice::Never => {
            None
        }
    }
}

/// The longest wait for which a client gets the error of a rate limit.
const SHORT_WAIT: Duration = Duration::from_secs(2 * 60);

/// The provider's message as the client sees it. A message about a key is replaced, because the key is the
/// operator's and not the client's.
fn provider_message(failure: &ModelFailure) -> String {
    let message = &failure.message;
    match failure.kind {
        ModelFailureKind::Forbidden => {
            format!("the provider refuses this to the gateway's own key for it: {message}")
        }
        ModelFailureKind::Unauthenticated => format!(
            "the gateway's own key for the provider is missing or not accepted, for every client: {message}"
        ),
        ModelFailureKind::BudgetExhausted
        | ModelFailureKind::BudgetUnavailable
        | ModelFailureKind::ContentFilter
        | ModelFailureKind::ContextTooLong { .. }
        | ModelFailureKind::Interrupted
        | ModelFailureKind::InvalidRequest
        | ModelFailureKind::ModelNotFound
        | ModelFailureKind::Overloaded
        | ModelFailureKind::ProtocolViolation
        | ModelFailureKind::RateLimited
        | ModelFailureKind::ServerError
        | ModelFailureKind::Timeout
        | ModelFailureKind::TooLarge
        | ModelFailureKind::Transport
        | ModelFailureKind::ToolsUnsupported
        | ModelFailureKind::Unsupported
        | ModelFailureKind::UnusableReply => message.clone(),
    }
}
