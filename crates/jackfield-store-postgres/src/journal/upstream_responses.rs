//! The responses that providers keep.

use async_trait::async_trait;
use jackfield_domain::digest::Digest;
use jackfield_domain::time::WallTime;
use jackfield_ports::journal::JournalError;
use jackfield_ports::journal::upstream_responses::{UpstreamResponse, UpstreamResponses};

use super::{PostgresJournal, again};
use crate::upstream_responses;

#[async_trait]
impl UpstreamResponses for PostgresJournal {
    async fn store_upstream_response(
        &self,
        response: &UpstreamResponse,
        now: WallTime,
    ) -> Result<(), JournalError> {
        let record = jackfield_record::encode_spending(&response.request);
        let record = record.map_err(|error| JournalError::Unreachable {
            source: error.into(),
        })?;
        let stored = again!(
            upstream_responses::insert(&mut self.pool.get().await?, response, &record, now).await
        );
        stored.map_err(|fault| self.unreachable(fault))
    }

    async fn find_upstream_response(
        &self,
        place: &Digest,
    ) -> Result<Option<UpstreamResponse>, JournalError> {
        let found = again!(upstream_responses::find(&mut self.pool.get().await?, place).await);
        found.map_err(|fault| self.unreachable(fault))
    }
}
