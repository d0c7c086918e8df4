//! The meters.

use async_trait::async_trait;
use jackfield_domain::quota::{MeterOperation, MeterOutcome};
use jackfield_ports::journal::JournalError;
use jackfield_ports::journal::meters::Meters;

use super::{PostgresJournal, again};
use crate::meters;

#[async_trait]
impl Meters for PostgresJournal {
    async fn perform(&self, operation: &MeterOperation) -> Result<MeterOutcome, JournalError> {
        // A repetition takes nothing more.
        let performed = again!(meters::perform(&mut self.pool.get().await?, operation).await);
        performed.map_err(|fault| self.unreachable(fault))
    }
}
