//! Sends the request of a call: once, and once more without a field of the adapter's own that the server refuses.

use bytes::Bytes;
use http::Request;
use jackfield_dialect_kit::strict;
use jackfield_domain::note::{Note, NoteEffect, NoteKind};
use jackfield_domain::request::ModelRequest;
use jackfield_ports::call_context::CallContext;
use jackfield_ports::chat_model::ModelError;
use tracing::Span;

use super::adapter::{Adapter, PreparedRequest};
use super::refusal::Refusal;
use super::{ReplySink, request_id};
use crate::transport::{Incoming, Transport};

/// A response of success, and what reads it.
pub(super) struct Asked<D> {
    pub(super) decoder: D,
    pub(super) incoming: Incoming,
    pub(super) notes: Vec<Note>,
}

/// Sends a request with its headers, and returns the response, or the refusal.
pub(super) async fn ask<A: Adapter>(
    adapter: &A,
    transport: &Transport,
    (request, prepared): (&ModelRequest, PreparedRequest<A::Decoder>),
    call: &CallContext,
    reply_sink: &mut ReplySink<'_>,
) -> Result<Result<Asked<A::Decoder>, Refusal>, ModelError> {
    let PreparedRequest {
        added,
        decoder,
        notes,
        request: http_request,
    } = prepared;
    // Nearly no server refuses a field, so what a second request needs is kept only where there can be one.
    let kept = (!added.is_empty()).then(|| {
        let headers = http_request.headers().clone();
        (headers, http_request.body().clone())
    });
    let refusal = match send::<A>(transport, http_request, call, reply_sink).await? {
        Ok(incoming) => {
            return Ok(Ok(Asked {
                decoder,
                incoming,
                notes,
            }));
        }
        Err(refusal) => refusal,
    };
    let Some((headers, sent)) = kept else {
        return Ok(Err(refusal));
    };
    let named = refusal.named_fields(&sent, &added);
    let Some(mut again) = without(adapter, request, &named) else {
        return Ok(Err(refusal));
    };
    *again.request.headers_mut() = headers;
    let answer = send::<A>(transport, again.request, call, reply_sink).await?;
    let helped = match &answer {
        Ok(_) => true,
        Err(refusal) => refusal.is_of_content() && refusal.named_fields(&sent, &named).is_empty(),
    };
    if let (true, Some(refused)) = (helped, adapter.refused_fields()) {
        for field in named {
            refused.add(&request.model.model, field);
        }
    }
    Ok(answer.map(|incoming| Asked {
        decoder: again.decoder,
        incoming,
        notes: again.notes,
    }))
}

/// The request without these fields; `None` if there are none, or if it cannot do without them.
fn without<A: Adapter>(
    adapter: &A,
    request: &ModelRequest,
    named: &[&'static str],
) -> Option<PreparedRequest<A::Decoder>> {
    if named.is_empty() {
        return None;
    }
    let mut refused = adapter.refused_fields()?.of(&request.model.model);
    refused.extend(named);
    let mut again = adapter.prepare_without(request, &refused).ok()?;
    let left_out = named.iter();
    again.notes.extend(
        left_out
            .map(|field| Note::new(NoteKind::Dropped, NoteEffect::Cost, "field_refused", *field)),
    );
    strict::check(&again.notes, request.strict).ok()?;
    Some(again)
}

/// Sends a request, and reads the head of the response and, if it refuses, what it says.
async fn send<A: Adapter>(
    transport: &Transport,
    request: Request<Bytes>,
    call: &CallContext,
    reply_sink: &mut ReplySink<'_>,
) -> Result<Result<Incoming, Refusal>, ModelError> {
    let incoming = transport.send_call(request, call).await?;
    reply_sink.sink.alive().await;
    reply_sink.request_id = request_id::from_headers(incoming.headers(), A::REQUEST_ID.0);
    if let Some(id) = &reply_sink.request_id {
        Span::current().record(A::REQUEST_ID.1, &**id);
        reply_sink.sink.request_id(id).await;
    }
    if incoming.status().is_success() {
        return Ok(Ok(incoming));
    }
    Ok(Err(Refusal::read(incoming).await))
}
