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

use super::PROVIDER_REQUEST;
use super::turn_reply::{HeldUntilSent, TurnReply};
use crate::failures;
use crate::notes;
use crate::receipt::{ReceiptBody, ReceiptLedger};

/// Answers with the whole reply, once it is complete.
///
/// # Errors
///
/// The failure of the turn.
pub(crate) async fn answer(
    mut told: TurnReply,
    held: HeldUntilSent,
    known: &[Note],
    ledger: Option<ReceiptLedger>,
) -> Result<Response, ServeError> {
    let mut reply = Gather::new(told.turn().clone());
    let end = loop {
        let mut end = None;
        for shown in told.next().await? {
            match shown {
                ClientEvent::AskedAgain(_) => {}
                ClientEvent::Piece { call, delta } => reply.take(call.as_ref(), &delta),
                ClientEvent::End(ended) => end = Some(ended),
            }
        }
        if let Some(end) = end {
            break end;
        }
    };
    let end = match end {
        SegmentEnd::Whole(end) => end,
        SegmentEnd::Failed(end) => {
            // The error is the complete response.
            held.connection.written();
            return Err(failures::of_end(&end));
        }
    };
    let reply = reply.finish(end).map_err(broken)?;
    let (body, lost) = told.body(&reply);
    let all = known.iter().chain(&reply.end.notes).chain(&lost);
    let notes = notes::header(all);
    let body = Full::new(Bytes::from(body));
    let mut response = Response::new(ReceiptBody::of(body, held.receipt(Arc::default()), ledger));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(id) = told.provider_request() {
        headers.insert(PROVIDER_REQUEST, id);
    }
    notes::insert(headers, notes);
    Ok(response)
}

fn broken(error: ProtocolViolation) -> ServeError {
    ServeError::new(ServeErrorKind::Internal, error.to_string())
}
