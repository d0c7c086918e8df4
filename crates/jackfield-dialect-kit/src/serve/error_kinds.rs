//! All kinds of errors, for the tests of dialects.

use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};

use super::ServeErrorKind;

impl ServeErrorKind {
    /// One of each kind, for the tests of dialects: a new kind belongs here, too.
    #[must_use]
    pub fn one_of_each() -> Vec<Self> {
        let model = [
            ModelFailureKind::ContextTooLong {
                limit: Some(10),
                requested: Some(20),
            },
            ModelFailureKind::BudgetExhausted,
            ModelFailureKind::BudgetUnavailable,
            ModelFailureKind::Forbidden,
            ModelFailureKind::Interrupted,
            ModelFailureKind::InvalidRequest,
            ModelFailureKind::ModelNotFound,
            ModelFailureKind::Overloaded,
            ModelFailureKind::ProtocolViolation,
            ModelFailureKind::ContentFilter,
            ModelFailureKind::RateLimited,
            ModelFailureKind::ServerError,
            ModelFailureKind::Timeout,
            ModelFailureKind::TooLarge,
            ModelFailureKind::ToolsUnsupported,
            ModelFailureKind::Transport,
            ModelFailureKind::Unauthenticated,
            ModelFailureKind::Unsupported,
            ModelFailureKind::UnusableReply,
        ];
        let failed = |kind| ModelFailure::new(kind, Phase::BeforeFirstDelta, "It failed.");
        let mut kinds: Vec<Self> = model
            .into_iter()
            .map(|kind| Self::Model(Box::new(failed(kind))))
            .collect();
        kinds.extend([
            Self::Busy,
            Self::Cancelled,
            Self::ClientExpired,
            Self::Conflict,
            Self::Exhausted { retry_after: 7 },
            Self::Forbidden,
            Self::Internal,
            Self::Invalid,
            Self::LimitReached,
            Self::NoSuchAddress,
            Self::NoSuchCall,
            Self::NoSuchModel,
            Self::NoSuchReply,
            Self::NoSuchSession,
            Self::ResultsMissing,
            Self::Strict,
            Self::ThreadUnsupported,
            Self::TooLarge,
            Self::TooMany { retry_after: 7 },
            Self::TooSlow,
            Self::Unauthenticated,
            Self::Unavailable,
            Self::Unsupported,
            Self::UnsupportedEncoding,
        ]);
        kinds
    }
}
