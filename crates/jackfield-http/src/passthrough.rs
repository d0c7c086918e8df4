//! Requests that go to their provider byte for byte.

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{Extensions, Request};
use http_body_util::StreamBody;
use hyper::body::Frame;
use jackfield_dialect_kit::serve::ServeError;
use jackfield_gateway::{
    BodyRoom, Gateway, Passthrough, PassthroughBody, PassthroughReply, Principal, ReceivedRequest,
    RequestSlot, is_multipart,
};

use crate::access::Access;
use crate::auth::authenticate;
use crate::receipt::ReceiptLedger;
use crate::refusal::HttpRefusal;
use crate::{body, rates};

/// The request as it is passed through; `None` if it becomes a turn.
///
/// # Errors
///
/// As [`Gateway::passthrough`].
pub(crate) async fn passthrough(
    gateway: &Gateway,
    client: &Principal,
    head: &Parts,
    body: &Bytes,
) -> Result<Option<Passthrough>, ServeError> {
    let enabled = gateway.config().passthrough.is_enabled;
    if !client.passthrough.unwrap_or(enabled) {
        return Ok(None);
    }
    gateway.passthrough(client, &received(head, body)).await
}

/// Answers a request to an endpoint that is only passed through.
pub(crate) async fn answer(
    gateway: &Gateway,
    request: Request<Body>,
) -> Result<Response, HttpRefusal> {
    let client = authenticate(gateway, request.headers(), request.extensions()).await?;
    let slot = rates::admit(gateway, &client, request.extensions()).await?;
    let (head, body) = request.into_parts();
    let content_type = head.headers.get(CONTENT_TYPE);
    let content_type = content_type.and_then(|value| value.to_str().ok());
    let (body, room) = if content_type.is_some_and(is_multipart) {
        body::read_any(gateway, &client, &head.headers, body).await?
    } else {
        body::read(gateway, &client, &head.headers, body).await?
    };
    let passthrough = gateway.passthrough_only(&client, &received(&head, &body))?;
    drop(body);
    respond(passthrough, Some(slot), Some(room), &head.extensions).await
}

/// Sends a request, and answers with the provider's reply as it arrives.
///
/// # Errors
///
/// As [`Passthrough::send`].
pub(crate) async fn respond(
    passthrough: Passthrough,
    slot: Option<RequestSlot>,
    room: Option<BodyRoom>,
    extensions: &Extensions,
) -> Result<Response, HttpRefusal> {
    let access = extensions.get::<Access>().cloned();
    let ledger = extensions.get::<ReceiptLedger>().cloned();
    if let Some(access) = &access {
        access.record_passthrough();
    }
    let PassthroughReply {
        body,
        headers,
        status,
    } = passthrough.send().await?;
    drop(room);
    let state = BodyState {
        access,
        body,
        ledger,
        _slot: slot,
    };
    // Boxed, because it is moved with every piece.
    let frames = stream::unfold(Box::new(state), |mut state| async move {
        match state.body.next().await {
            Ok(None) => None,
            Ok(Some(piece)) => Some((Ok(Frame::data(piece)), state)),
            // The connection is closed, so that half a reply does not look whole.
            Err(error) => {
                if let Some(access) = &state.access {
                    access.record_error(error.kind.code());
                }
                // hyper drops what it has not written yet when a body fails.
                if let Some(ledger) = &state.ledger {
                    ledger.wait_until_flushed().await;
                }
                Some((Err(error), state))
            }
        }
    });
    let mut response = Response::new(Body::new(StreamBody::new(Box::pin(frames))));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    Ok(response)
}

struct BodyState {
    access: Option<Access>,
    body: PassthroughBody,
    ledger: Option<ReceiptLedger>,
    /// The request counts until its reply is sent.
    _slot: Option<RequestSlot>,
}

/// The request as it was received.
pub(crate) fn received(head: &Parts, body: &Bytes) -> ReceivedRequest {
    ReceivedRequest {
        body: body.clone(),
        headers: head.headers.clone(),
        method: head.method.clone(),
        path: head.uri.path().to_owned(),
        query: head.uri.query().map(str::to_owned),
    }
}
