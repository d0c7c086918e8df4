//! Which path leads where, and how a refusal looks there.

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use axum::routing::post;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Request, StatusCode};
use jackfield_dialect_kit::serve::{Refused, ServeError, ServeErrorKind};

use crate::gateway::Gateway;
use crate::ids::RequestId;
use crate::{dialects, flow};

/// Everything that the gateway answers.
pub fn router(gateway: &Gateway) -> Router {
    Router::new()
        .route("/v1/messages", post(messages))
        .fallback(no_such_address)
        .method_not_allowed_fallback(wrong_method)
        .with_state(gateway.clone())
}

async fn messages(State(gateway): State<Gateway>, request: Request<Body>) -> Response {
    flow::answer(gateway, &dialects::CLAUDE, request).await
}

async fn no_such_address(request: Request<Body>) -> Response {
    let message = format!("there is nothing at {}", request.uri().path());
    let error = ServeError::new(ServeErrorKind::NoSuchAddress, message);
    refused(&request, &error)
}

async fn wrong_method(request: Request<Body>) -> Response {
    let message = format!("{} is not for {}", request.uri().path(), request.method());
    let error = ServeError::new(ServeErrorKind::NoSuchAddress, message);
    let mut response = refused(&request, &error);
    *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
    response
}

/// The refusal of a request, in the form that its path calls for.
pub(crate) fn refused(request: &Request<Body>, error: &ServeError) -> Response {
    let id = request.extensions().get::<RequestId>();
    let id = id.map(|id| &*id.0).unwrap_or_default();
    let dialect = dialects::of(request.uri().path(), request.headers());
    to_response(dialect.error(error, id))
}

/// A refusal as a response.
pub(crate) fn to_response(refused: Refused) -> Response {
    let mut response = Response::new(Body::from(refused.body));
    *response.status_mut() =
        StatusCode::from_u16(refused.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(seconds) = refused.retry_after {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}
