//! The rows of responses that providers keep.

use jackfield_domain::digest::Digest;
use jackfield_domain::time::WallTime;
use jackfield_ports::journal::upstream_responses::UpstreamResponse;
use jackfield_record::VOCABULARY;

use crate::error::Fault;
use crate::pool::{Connection, Transaction, column, values};
use crate::requests::utf8;

/// Stores a response, and deletes some that are over, in one transaction.
pub(crate) async fn insert(
    connection: &mut Connection,
    response: &UpstreamResponse,
    record: &[u8],
    now: WallTime,
) -> Result<(), Fault> {
    let stored = values![
        &response.place.as_bytes()[..] => BYTEA, response.expires.as_millis() => INT8,
        response.is_background => BOOL, response.model.as_bytes() => BYTEA,
        i64::from(VOCABULARY) => INT8, record => BYTEA,
    ];
    connection
        .begin(Transaction::Synced, INSERT, stored)
        .await?;
    let deleted = values![now.as_millis() => INT8, DELETED_AT_ONCE => INT8];
    connection.commit_with(DELETE, deleted).await
}

/// The response of this place. One that a later version wrote is none.
pub(crate) async fn find(
    connection: &mut Connection,
    place: &Digest,
) -> Result<Option<UpstreamResponse>, Fault> {
    let values = values![&place.as_bytes()[..] => BYTEA];
    let Some(row) = connection.query_row(FIND, values).await? else {
        return Ok(None);
    };
    let (vocabulary, record): (i64, &[u8]) = (column(&row, 3)?, column(&row, 4)?);
    let known = vocabulary <= i64::from(VOCABULARY);
    let request = known.then(|| jackfield_record::decode_spending(record).ok());
    let Some(request) = request.flatten() else {
        return Ok(None);
    };
    Ok(Some(UpstreamResponse {
        expires: WallTime::from_millis(column(&row, 0)?),
        is_background: column(&row, 1)?,
        model: utf8(column(&row, 2)?)?,
        place: *place,
        request,
    }))
}

const INSERT: &str = "INSERT INTO jackfield.upstream_responses \
     (place, expires, background, model, vocabulary, record) VALUES ($1, $2, $3, $4, $5, $6) \
     ON CONFLICT (place) DO UPDATE SET expires = excluded.expires, background = excluded.background, \
     model = excluded.model, vocabulary = excluded.vocabulary, record = excluded.record";
/// Another gateway may be deleting the same.
const DELETE: &str = "DELETE FROM jackfield.upstream_responses WHERE place IN \
     (SELECT place FROM jackfield.upstream_responses WHERE expires <= $1 ORDER BY expires LIMIT $2 \
     FOR UPDATE SKIP LOCKED)";
const FIND: &str = "SELECT expires, background, model, vocabulary, record \
     FROM jackfield.upstream_responses WHERE place = $1";

/// How many responses that are over one request deletes at most: more than it adds.
const DELETED_AT_ONCE: i64 = 16;
