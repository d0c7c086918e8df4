//! Which request gets what.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use serde_json::{Value, json};

use super::body::Pieces;
use super::refusal::Refusal;
use super::{Pace, messages};
use crate::brain;

/// Answers a request.
pub(super) async fn answer(
    request: Request<Incoming>,
    pace: Pace,
) -> Result<Response<Pieces>, Infallible> {
    let id = format!("req_demo_{}", NEXT.fetch_add(1, Ordering::Relaxed));
    let mut response = match route(request).await {
        Ok(Answer::Whole(json)) => whole(StatusCode::OK, json.to_string()),
        Ok(Answer::Events(events)) => streamed(events, pace),
        Err(refusal) => {
            tracing::debug!(status = %refusal.status, "the demo model refused a request");
            let body = serde_json::to_string(&refusal.to_wire(&id)).unwrap_or_default();
            whole(refusal.status, body)
        }
    };
    if let Ok(id) = HeaderValue::from_str(&id) {
        response.headers_mut().insert("request-id", id);
    }
    Ok(response)
}

/// What a request gets that is not refused.
pub(super) enum Answer {
    /// A stream of server-sent events.
    Events(VecDeque<Bytes>),
    /// A JSON document.
    Whole(Value),
}

async fn route(request: Request<Incoming>) -> Result<Answer, Refusal> {
    let (head, body) = request.into_parts();
    let path = head.uri.path().trim_end_matches('/').to_owned();
    let wants = match path.as_str() {
        "/v1/messages" => Method::POST,
        "/v1/models" => Method::GET,
        path if path.starts_with("/v1/models/") => Method::GET,
        path => return Err(Refusal::not_found(format!("there is nothing at {path:?}"))),
    };
    if head.method != wants {
        return Err(Refusal::wrong_method());
    }
    check_headers(&head.headers)?;
    match path.strip_prefix("/v1/models") {
        Some("") => Ok(Answer::Whole(json!({
            "data": [model()],
            "has_more": false,
            "first_id": brain::NAME,
            "last_id": brain::NAME,
        }))),
        Some(name) if name.trim_start_matches('/') == brain::NAME => Ok(Answer::Whole(model())),
        Some(name) => Err(Refusal::not_found(format!(
            "model: {}",
            name.trim_start_matches('/')
        ))),
        None => messages::answer(&read(body).await?),
    }
}

fn check_headers(headers: &HeaderMap) -> Result<(), Refusal> {
    let text = |name: &str| {
        headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .map(str::trim)
    };
    let bearer = text("authorization").and_then(|value| value.strip_prefix("Bearer "));
    let key = text("x-api-key").or(bearer).unwrap_or_default();
    if key.is_empty() {
        return Err(Refusal::no_key());
    }
    match text("anthropic-version") {
        None | Some("") => Err(Refusal::invalid("anthropic-version: header is required")),
        Some(_) => Ok(()),
    }
}

/// The whole body, unless it is too large.
async fn read(body: Incoming) -> Result<Bytes, Refusal> {
    match Limited::new(body, MAX_BODY).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(fault) if fault.is::<LengthLimitError>() => Err(Refusal::too_large(MAX_BODY)),
        Err(fault) => Err(Refusal::invalid(format!(
            "the body cannot be read: {fault}"
        ))),
    }
}

/// What there is to say about the model.
fn model() -> Value {
    json!({
        "type": "model",
        "id": brain::NAME,
        "display_name": "Jackfield demo (a rule follower, not an AI)",
        "created_at": "2026-01-01T00:00:00Z",
        "lifecycle": "active",
        "line": null,
    })
}

fn whole(status: StatusCode, json: String) -> Response<Pieces> {
    let mut response = Response::new(Pieces::whole(json));
    *response.status_mut() = status;
    set(&mut response, header::CONTENT_TYPE, "application/json");
    response
}

fn streamed(events: VecDeque<Bytes>, pace: Pace) -> Response<Pieces> {
    let mut response = Response::new(Pieces::paced(events, pace));
    set(
        &mut response,
        header::CONTENT_TYPE,
        "text/event-stream; charset=utf-8",
    );
    set(&mut response, header::CACHE_CONTROL, "no-cache");
    response
}

fn set(response: &mut Response<Pieces>, name: header::HeaderName, value: &'static str) {
    response
        .headers_mut()
        .insert(name, HeaderValue::from_static(value));
}

/// Counts requests, so that each has an id.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// The largest body, as with the vendor.
const MAX_BODY: usize = 32 * 1024 * 1024;
