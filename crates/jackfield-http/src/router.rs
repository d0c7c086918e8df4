//! Which path leads where, and how a refusal looks there.

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Request, StatusCode};
use jackfield_dialect_kit::serve::{Refused, ServeError, ServeErrorKind};

use crate::gateway::Gateway;

/// Everything that the gateway answers.
pub fn router(gateway: &Gateway) -> Router {
    Router::new()
        .fallback(no_such_address)
        .with_state(gateway.clone())
}

async fn no_such_address(request: Request<Body>) -> Response {
    let message = format!("there is nothing at {}", request.uri().path());
    let error = ServeError::new(ServeErrorKind::NoSuchAddress, message);
    refused(&request, &error)
}

/// The refusal of a request, in the form that its path calls for.
pub(crate) fn refused(request: &Request<Body>, error: &ServeError) -> Response {
    let _ = request;
    let body = serde_json::json!({ "error": { "message": error.message } });
    to_response(Refused {
        body: body.to_string().into_bytes(),
        retry_after: None,
        status: 404,
    })
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
