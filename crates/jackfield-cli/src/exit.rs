//! The exit codes, for scripts.
//!
//! | code | meaning |
//! |---|---|
//! | 0 | the question was answered, or the command did what it was asked for |
//! | 1 | Jackfield itself failed |
//! | 2 | the command line or the question was wrong |
//! | 3 | the configuration was wrong, or a key is missing or not accepted |
//! | 4 | the model's provider failed, or does not support the request |
//! | 5 | a limit was reached, and there is no answer or `on_limit` is `"error"` |
//! | 6 | the answer broke off; the part received was printed |
//! | 7 | the tool of `tools call` failed |
//! | 8 | an MCP server of `mcp test` or `mcp accept` cannot be used |
//! | 9 | the answer does not have the requested form, as with `--schema` |
//! | 10 | the question of `approvals` was answered before, or has expired |
//! | 11 | a recording does not come out the same in `replay` |
//! | 12 | the session has an open turn: in progress elsewhere, left open or parked |
//! | 13 | the journal is damaged, or older than what was written; the readable part was printed |
//! | 130 | cancelled |

use jackfield_domain::fact::TurnEnd;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind};

/// The exit code of a run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Exit {
    /// The question was answered, or the command did what it was asked for.
    Answered,
    Internal,
    /// The command line or the question was wrong.
    Usage,
    /// The configuration was wrong, or a key is missing or not accepted.
    Configuration,
    /// The model's provider failed, or does not support the request.
    Provider,
    /// A limit was reached, and there is no answer, or that counts as an error.
    Limit,
    /// The answer broke off; the part received was printed.
    Interrupted,
    /// The tool of `tools call` failed.
    Tool,
    /// An MCP server of `mcp test` or `mcp accept` cannot be used.
    Server,
    /// The answer does not have the requested form; it was printed.
    Misfit,
    /// The question of `approvals` was answered before, or has expired.
    TooLate,
    /// The recording does not come out the same.
    Differs,
    /// The session has an open turn: a process works on it, or it was left open or parked.
    Unfinished,
    /// The journal is damaged, or older than what was written; the readable part was printed.
    Damaged,
    Cancelled,
}

impl Exit {
    /// All exit codes, in order.
    pub const ALL: [Self; 15] = [
        Self::Answered,
        Self::Internal,
        Self::Usage,
        Self::Configuration,
        Self::Provider,
        Self::Limit,
        Self::Interrupted,
        Self::Tool,
        Self::Server,
        Self::Misfit,
        Self::TooLate,
        Self::Differs,
        Self::Unfinished,
        Self::Damaged,
        Self::Cancelled,
    ];

    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Answered => 0,
            Self::Internal => 1,
            Self::Usage => 2,
            Self::Configuration => 3,
            Self::Provider => 4,
            Self::Limit => 5,
            Self::Interrupted => 6,
            Self::Tool => 7,
            Self::Server => 8,
            Self::Misfit => 9,
            Self::TooLate => 10,
            Self::Differs => 11,
            Self::Unfinished => 12,
            Self::Damaged => 13,
            Self::Cancelled => 130,
        }
    }

    /// The exit code for the end of a turn.
    #[must_use]
    pub const fn of(end: &TurnEnd) -> Self {
        match end {
            TurnEnd::Answered(_)
            | TurnEnd::Limited {
                is_error: false, ..
            } => Self::Answered,
            TurnEnd::Cancelled(_) => Self::Cancelled,
            // Only a program with client tools can miss their deadline.
            TurnEnd::ClientExpired => Self::Internal,
            TurnEnd::Failed(failure) => Self::of_failure(failure),
            TurnEnd::Interrupted(_) => Self::Interrupted,
            TurnEnd::Limited { is_error: true, .. } => Self::Limit,
        }
    }

    /// The exit code for a failed call of a provider.
    pub(crate) const fn of_failure(failure: &ModelFailure) -> Self {
        match failure.kind {
            ModelFailureKind::Unauthenticated => Self::Configuration,
            ModelFailureKind::BudgetExhausted | ModelFailureKind::BudgetUnavailable => Self::Limit,
            ModelFailureKind::ContentFilter
            | ModelFailureKind::ContextTooLong { .. }
            | ModelFailureKind::Forbidden
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
            | ModelFailureKind::UnusableReply => Self::Provider,
        }
    }
}

/// The exit codes, for `--help`.
pub const HELP: &str = "\
Exit codes:
  0    answered, or done
  1    Jackfield itself failed
  2    the command line or the question was wrong
  3    the configuration was wrong, or a key is missing or not accepted
  4    the model's provider failed, or cannot be asked this
  5    a limit was met, and there is no answer or `on_limit` is \"error\"
  6    the answer broke off; what had come was printed
  7    the tool of `tools call` failed
  8    an MCP server of `mcp test` or `mcp accept` cannot be used
  9    the answer is not of the form that was asked for, as with --schema
  10   the question of `approvals` was answered before, or has expired
  11   what was recorded does not come out the same in `replay`
  12   the session has a turn that is not over: at work elsewhere, left open or parked
  13   what is kept is damaged, or older than what was written; what can be read was printed
  130  cancelled";
