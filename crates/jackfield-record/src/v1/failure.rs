//! Forms of failures.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::failure::{
    Disposition, ModelFailure, ModelFailureKind, Phase, RetryAdvice, ToolFailureKind,
};

stored_enum! { Disposition as DispositionForm { Landed, NotSent, Unknown } }

stored_struct! { ModelFailure as ModelFailureForm {
    kind: ModelFailureKind, phase: Phase, advice: RetryAdvice, message: String; maybe request_id: Arc<str>
} }

stored_enum! { ModelFailureKind as ModelFailureKindForm {
    BudgetExhausted,
    BudgetUnavailable,
    ContentFilter,
    ContextTooLong { ; maybe limit: u64, requested: u64 },
    Forbidden,
    Interrupted,
    InvalidRequest,
    ModelNotFound,
    Overloaded,
    ProtocolViolation,
    RateLimited,
    ServerError,
    Timeout,
    TooLarge,
    ToolsUnsupported,
    Transport,
    Unauthenticated,
    Unsupported,
    UnusableReply,
} }

stored_enum! { Phase as PhaseForm { BeforeSend, BeforeFirstDelta, MidReply } }

stored_enum! { RetryAdvice as RetryAdviceForm { After(wait: Duration), AtOnce, Backoff, Never } }

stored_enum! { ToolFailureKind as ToolFailureKindForm {
    Cancelled,
    Crashed,
    InvalidArguments,
    ProtocolViolation,
    Timeout,
    Unavailable,
    UnknownTool,
} }
