//! The demand for usage that is added to a client's chat stream, and what happens if the provider refuses it.

use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use http::header::CONTENT_LENGTH;
use jackfield_dialect_kit::named_fields;
use jackfield_ports::chat_model::ModelError;
use jackfield_ports::upstream::{RawBody, RawReply, RawRequest, Upstream};

/// A demand for usage in a body, as a field of its own that the client did not set.
#[derive(Debug)]
pub(super) struct AddedUsage {
    pub(super) model: Arc<str>,
    /// Where the field stands in the body, with its comma.
    pub(super) range: Range<usize>,
}

impl AddedUsage {
    /// The body without it.
    fn removed_from(&self, body: &Bytes) -> Bytes {
        let mut rest = BytesMut::from(body.get(..self.range.start).unwrap_or_default());
        rest.extend_from_slice(body.get(self.range.end..).unwrap_or_default());
        rest.freeze()
    }
}

/// Sends a request, and once more without the demand for usage if the provider refuses that by name. Returns the reply,
/// and whether it is to a request without it.
pub(super) async fn send(
    upstream: &dyn Upstream,
    request: RawRequest,
    added: Option<AddedUsage>,
) -> Result<(RawReply, bool), ModelError> {
    let Some(added) = added else {
        return Ok((upstream.send(request).await?, false));
    };
    let mut again = request.clone();
    let sent = request.body.clone();
    let (reply, is_refused) = read_refusal(upstream.send(request).await?, &sent).await;
    if !is_refused {
        return Ok((reply, false));
    }
    again.body = added.removed_from(&sent);
    let (reply, is_refused) = read_refusal(upstream.send(again).await?, &sent).await;
    let helped = reply.status.is_success() || named_fields::is_refusal(reply.status.as_u16());
    if helped && !is_refused {
        upstream.field_refused(&added.model, FIELD);
    }
    Ok((reply, true))
}

/// The reply, of which the beginning is read if it is a refusal, and whether it names the field.
async fn read_refusal(mut reply: RawReply, sent: &[u8]) -> (RawReply, bool) {
    if !named_fields::is_refusal(reply.status.as_u16()) {
        return (reply, false);
    }
    let (start, is_ended) = read_start(&mut *reply.body).await;
    let is_named = !named_fields::refused(&start, sent, &[FIELD]).is_empty();
    // The body may have broken off.
    reply.headers.remove(CONTENT_LENGTH);
    reply.body = Box::new(ReadAhead {
        rest: (!is_ended).then_some(reply.body),
        start: (!start.is_empty()).then_some(start),
    });
    (reply, is_named)
}

/// The beginning of an error, and whether nothing follows: it is complete, or has broken off.
pub(super) async fn read_start(body: &mut dyn RawBody) -> (Bytes, bool) {
    let mut start = BytesMut::new();
    while start.len() < MAX_ERROR {
        match body.next().await {
            Ok(Some(piece)) => start.extend_from_slice(&piece),
            Ok(None) | Err(_) => return (start.freeze(), true),
        }
    }
    (start.freeze(), false)
}

/// A body whose beginning has been read.
struct ReadAhead {
    /// What follows, if anything does.
    rest: Option<Box<dyn RawBody>>,
    start: Option<Bytes>,
}

#[async_trait]
impl RawBody for ReadAhead {
    async fn next(&mut self) -> Result<Option<Bytes>, ModelError> {
        if let Some(start) = self.start.take() {
            return Ok(Some(start));
        }
        match &mut self.rest {
            Some(rest) => rest.next().await,
            None => Ok(None),
        }
    }
}

/// The field.
pub(super) const FIELD: &str = "stream_options";
/// How much of an error is read, in bytes, to know what it is.
const MAX_ERROR: usize = 64 << 10;
