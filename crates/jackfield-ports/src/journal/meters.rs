//! The meters of a journal: what keys, users and teams took from their quotas.

use async_trait::async_trait;
use jackfield_domain::quota::{MeterOperation, MeterOutcome};

use super::JournalError;

/// Stores meters beside the sessions, by name. A meter that is not stored is the default.
///
/// # Contract
///
/// - `perform` MUST read the operation's meters, [apply](MeterOperation::apply) it, and store the result, atomically: of
///   operations at once, from any process, each sees what the one before it stored.
/// - After an error, the operation may have been performed; the caller may repeat it. After a loss of power, operations
///   may be undone, the latest first; after the end of a process, none.
/// - A meter that cannot be read MUST be an error, and is not the default.
#[async_trait]
pub trait Meters: Send + Sync {
    /// Performs an operation.
    ///
    /// # Errors
    ///
    /// [`JournalError::Unreachable`] if the journal cannot be reached or written.
    async fn perform(&self, operation: &MeterOperation) -> Result<MeterOutcome, JournalError>;
}
