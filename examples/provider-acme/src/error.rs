//! Acme's errors, as failures that the loop decides about.

use jackfield_dialect_kit::failure;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};

use crate::wire::Failure;

/// Classifies an error: by acme's own word for it, then by the status.
pub(crate) fn classify(status: Option<u16>, said: &Failure, phase: Phase) -> ModelFailure {
    let kind = match (said.what.as_str(), status) {
        ("broken", _) => ModelFailureKind::ServerError,
        ("busy", _) => ModelFailureKind::Overloaded,
        ("forbidden", _) => ModelFailureKind::Forbidden,
        ("invalid", _) => ModelFailureKind::InvalidRequest,
        ("key", _) => ModelFailureKind::Unauthenticated,
        ("model", _) => ModelFailureKind::ModelNotFound,
        ("rate", _) => ModelFailureKind::RateLimited,
        (_, Some(status)) => failure::by_status(status),
        (_, None) => ModelFailureKind::ServerError,
    };
    let message = failure::message(&said.say, &[&said.what]);
    ModelFailure::new(kind, phase, message)
}
