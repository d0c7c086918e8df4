//! The responses that providers keep, in memory.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use jackfield_domain::digest::Digest;
use jackfield_domain::time::WallTime;
use jackfield_ports::journal::JournalError;
use jackfield_ports::journal::upstream_responses::{UpstreamResponse, UpstreamResponses};

use super::MemoryJournal;
use super::meters::unreachable;

/// The responses by their places, with the records of their requests in the stored form.
pub(super) type UpstreamResponseTable = Arc<Mutex<HashMap<Digest, (UpstreamResponse, Vec<u8>)>>>;

#[async_trait]
impl UpstreamResponses for MemoryJournal {
    async fn store_upstream_response(
        &self,
        response: &UpstreamResponse,
        now: WallTime,
    ) -> Result<(), JournalError> {
        let record = jackfield_record::encode_spending(&response.request).map_err(unreachable)?;
        let table = self.upstream_responses.lock();
        let mut table = table.unwrap_or_else(PoisonError::into_inner);
        table.retain(|_, (one, _)| one.expires > now);
        table.insert(response.place, (response.clone(), record));
        Ok(())
    }

    async fn find_upstream_response(
        &self,
        place: &Digest,
    ) -> Result<Option<UpstreamResponse>, JournalError> {
        let table = self.upstream_responses.lock();
        let table = table.unwrap_or_else(PoisonError::into_inner);
        Ok(table.get(place).and_then(|(response, record)| {
            let request = jackfield_record::decode_spending(record).ok()?;
            Some(UpstreamResponse {
                request,
                ..response.clone()
            })
        }))
    }
}
