//! The vendor's errors, as failures that the loop decides about.

use jackfield_dialect_kit::failure;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};

use crate::wire::Failure;

/// Classifies an error. To do: by the vendor's own code first, as one status has several meanings.
pub(crate) fn classify(status: Option<u16>, error: &Failure, phase: Phase) -> ModelFailure {
    let kind = status.map_or(ModelFailureKind::ServerError, failure::by_status);
    ModelFailure::new(kind, phase, failure::message(&error.message, &[]))
}
