//! A reply as one body, without streaming.

use std::sync::Arc;

use axum::response::Response;
use bytes::Bytes;
use http::HeaderValue;
use http::header::CONTENT_TYPE;
use http_body_util::Full;
use jackfield_dialect_kit::serve::{ServeError, ServeErrorKind};
use jackfield_domain::accumulator::ProtocolViolation;
use jackfield_domain::client_view::{ClientEvent, Gather, SegmentEnd};
use jackfield_domain::note::Note;
use jackfield_gateway::failures;

use super::turn_reply::{HeldUntilSent, TurnReply};
use crate::notes;
use crate::receipt::{ReceiptBody, ReceiptLedger};
use crate::refusal::PROVIDER_REQUEST;

/// Answers with the whole reply, once it is complete.
///
/// # Errors
///
/// The failure of the turn.
pub(crate) async fn answer(
    mut turn_reply: TurnReply,
    held: HeldUntilSent,
    request_notes: &[Note],
    ledger: Option<ReceiptLedger>,
) -> Result<Response, ServeError> {
    let mut reply = Gather::new(turn_reply.turn().clone());
    let end = loop {
        let mut end = None;
        for event in turn_reply.next().await? {
            match event {
                ClientEvent::Retried(_) => {}
                ClientEvent::Piece { call, delta } => reply.push(call.as_ref(), &delta),
                ClientEvent::End(ended) => end = Some(ended),
            }
        }
        if let Some(end) = end {
            break end;
        }
    };
    let end = match end {
        SegmentEnd::Whole(end) => end,
        SegmentEnd::BrokenOff(end) => return Err(failures::from_turn_end(&end)),
        SegmentEnd::Failed(end) => {
            // The error is the complete response.
            held.connection.mark_written();
            return Err(failures::from_turn_end(&end));
        }
    };
    let reply = reply.finish(end).map_err(invalid_reply)?;
    let (body, lost) = turn_reply.body(&reply);
    let all = request_notes.iter().chain(&reply.end.notes).chain(&lost);
    let notes = notes::header(all);
    let body = Full::new(Bytes::from(body));
    let mut response = Response::new(ReceiptBody::wrap(
        body,
        held.receipt(Arc::default()),
        ledger,
    ));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(id) = turn_reply.provider_request() {
        headers.insert(PROVIDER_REQUEST, id);
    }
    notes::insert(headers, notes);
    Ok(response)
}

fn invalid_reply(error: ProtocolViolation) -> ServeError {
    ServeError::new(ServeErrorKind::Internal, error.to_string())
}
