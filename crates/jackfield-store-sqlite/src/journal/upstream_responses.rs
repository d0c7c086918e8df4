//! The responses that providers keep, in a file that can be written.

use async_trait::async_trait;
use jackfield_domain::digest::Digest;
use jackfield_domain::time::WallTime;
use jackfield_ports::journal::JournalError;
use jackfield_ports::journal::upstream_responses::{UpstreamResponse, UpstreamResponses};
use jackfield_record::{EncodeError, VOCABULARY};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::SqliteJournal;
use crate::jobs::ConcurrentWriters;

#[async_trait]
impl UpstreamResponses for SqliteJournal {
    async fn store_upstream_response(
        &self,
        response: &UpstreamResponse,
        now: WallTime,
    ) -> Result<(), JournalError> {
        let job = UpstreamResponseJob::new(response, now);
        let job = job.map_err(|error| JournalError::Unreachable {
            source: error.into(),
        })?;
        let work = move |connection: &Connection| job.insert(connection);
        let stored = self.writer.execute(ConcurrentWriters::Others, work).await;
        stored.map_err(|failed| self.unreachable(failed.fault))
    }

    async fn find_upstream_response(
        &self,
        place: &Digest,
    ) -> Result<Option<UpstreamResponse>, JournalError> {
        let place = *place;
        self.inspect(move |connection| find(connection, &place))
            .await
    }
}

/// A response to store, with the record of its request encoded by its requester.
struct UpstreamResponseJob {
    now: WallTime,
    record: Vec<u8>,
    response: UpstreamResponse,
}

impl UpstreamResponseJob {
    fn new(response: &UpstreamResponse, now: WallTime) -> Result<Self, EncodeError> {
        Ok(Self {
            now,
            record: jackfield_record::encode_spending(&response.request)?,
            response: response.clone(),
        })
    }

    /// Stores the response within the current transaction, and deletes some that are over.
    fn insert(&self, connection: &Connection) -> rusqlite::Result<()> {
        let response = &self.response;
        connection
            .prepare_cached(
                "INSERT INTO upstream_responses (place, expires, background, model, vocabulary, record)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                 ON CONFLICT DO UPDATE SET expires = excluded.expires, background = excluded.background,
                 model = excluded.model, vocabulary = excluded.vocabulary, record = excluded.record",
            )?
            .execute(params![
                response.place.as_bytes(),
                response.expires.as_millis(),
                response.is_background,
                response.model,
                VOCABULARY,
                self.record,
            ])?;
        connection
            .prepare_cached(
                "DELETE FROM upstream_responses WHERE place IN
                 (SELECT place FROM upstream_responses WHERE expires <= ?1 ORDER BY expires LIMIT ?2)",
            )?
            .execute(params![self.now.as_millis(), DELETED_AT_ONCE])?;
        Ok(())
    }
}

/// The response of this place. One that a later version wrote is none.
fn find(connection: &Connection, place: &Digest) -> rusqlite::Result<Option<UpstreamResponse>> {
    connection
        .prepare_cached(
            "SELECT expires, background, model, vocabulary, record FROM upstream_responses
             WHERE place = ?1",
        )?
        .query_row([place.as_bytes()], |row| {
            let (vocabulary, record): (i64, Vec<u8>) = (row.get(3)?, row.get(4)?);
            let known = vocabulary <= i64::from(VOCABULARY);
            let request = known.then(|| jackfield_record::decode_spending(&record).ok());
            let Some(request) = request.flatten() else {
                return Ok(None);
            };
            Ok(Some(UpstreamResponse {
                expires: WallTime::from_millis(row.get(0)?),
                is_background: row.get(1)?,
                model: row.get(2)?,
                place: *place,
                request,
            }))
        })
        .optional()
        .map(Option::flatten)
}

/// How many responses that are over one request deletes at most: more than it adds.
const DELETED_AT_ONCE: i64 = 16;
