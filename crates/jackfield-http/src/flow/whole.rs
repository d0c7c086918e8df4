//! A reply told whole.

use std::sync::Arc;

use axum::response::Response;
use bytes::Bytes;
use http::HeaderValue;
use http::header::CONTENT_TYPE;
use http_body_util::Full;
use jackfield_dialect_kit::serve::{ServeError, ServeErrorKind};
use jackfield_domain::accumulator::ProtocolViolation;
use jackfield_domain::note::Note;
use jackfield_domain::view::{Gather, SegmentEnd, Shown};

use super::telling::{Held, Telling};
use crate::failures;
use crate::notes;
use crate::receipt::{Ledger, Receipted};

/// Answers with the whole reply, when it is there.
///
/// # Errors
///
/// What failed.
pub(crate) async fn answer(
    mut told: Telling,
    held: Held,
    known: &[Note],
    ledger: Option<Ledger>,
) -> Result<Response, ServeError> {
    let mut reply = Gather::new(told.turn().clone());
    let end = loop {
        let mut end = None;
        for shown in told.next().await? {
            match shown {
                Shown::AskedAgain(_) => {}
                Shown::Piece { call, delta } => reply.take(call.as_ref(), &delta),
                Shown::End(ended) => end = Some(ended),
            }
        }
        if let Some(end) = end {
            break end;
        }
    };
    let end = match end {
        SegmentEnd::Whole(end) => end,
        SegmentEnd::Failed(end) => {
            // The client has all that there is.
            held.connection.written();
            return Err(failures::of_end(&end));
        }
    };
    let reply = reply.finish(end).map_err(broken)?;
    let (body, lost) = told.body(&reply);
    let all = known.iter().chain(&reply.end.notes).chain(&lost);
    let notes = notes::header(all);
    let body = Full::new(Bytes::from(body));
    let mut response = Response::new(Receipted::of(body, held.receipt(Arc::default()), ledger));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    told.name_provider_request(headers);
    notes::insert(headers, notes);
    Ok(response)
}

fn broken(error: ProtocolViolation) -> ServeError {
    ServeError::new(ServeErrorKind::Internal, error.to_string())
}
