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

use super::body::TimedBody;
use super::refusal::DemoRefusal;
use super::{ReplyPace, messages};
use crate::brain;

pub(super) async fn answer(
    request: Request<Incoming>,
    pace: ReplyPace,
) -> Result<Response<TimedBody>, Infallible> {
    let id = format!("req_demo_{}", NEXT.fetch_add(1, Ordering::Relaxed));
    let mut response = match route(request).await {
        Ok(RouteAnswer::Whole(json)) => whole(StatusCode::OK, json.to_string()),
        Ok(RouteAnswer::Events(events)) => streamed(events, pace),
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
pub(super) enum RouteAnswer {
    /// A stream of server-sent events.
    Events(VecDeque<Bytes>),
    Whole(Value),
}

async fn route(request: Request<Incoming>) -> Result<RouteAnswer, DemoRefusal> {
    let (head, body) = request.into_parts();
    let path = head.uri.path().trim_end_matches('/').to_owned();
    let wants = match path.as_str() {
        "/v1/messages" => Method::POST,
        "/v1/models" => Method::GET,
        path if path.starts_with("/v1/models/") => Method::GET,
        path => {
            return Err(DemoRefusal::not_found(format!(
                "there is nothing at {path:?}"
            )));
        }
    };
    if head.method != wants {
        return Err(DemoRefusal::wrong_method());
    }
    check_headers(&head.headers)?;
    match path.strip_prefix("/v1/models") {
        Some("") => Ok(RouteAnswer::Whole(json!({
            "data": [model()],
            "has_more": false,
            "first_id": brain::NAME,
            "last_id": brain::NAME,
        }))),
        Some(name) if name.trim_start_matches('/') == brain::NAME => {
            Ok(RouteAnswer::Whole(model()))
        }
        Some(name) => Err(DemoRefusal::not_found(format!(
            "model: {}",
            name.trim_start_matches('/')
        ))),
        None => messages::answer(&read(body).await?),
    }
}

fn check_headers(headers: &HeaderMap) -> Result<(), DemoRefusal> {
    let text = |name: &str| {
        headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .map(str::trim)
    };
    let bearer = text("authorization").and_then(|value| value.strip_prefix("Bearer "));
    let key = text("x-api-key").or(bearer).unwrap_or_default();
    if key.is_empty() {
        return Err(DemoRefusal::no_key());
    }
    match text("anthropic-version") {
        None | Some("") => Err(DemoRefusal::invalid(
            "anthropic-version: header is required",
        )),
        Some(_) => Ok(()),
    }
}

/// The whole body, unless it is too large.
async fn read(body: Incoming) -> Result<Bytes, DemoRefusal> {
    match Limited::new(body, MAX_BODY).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(fault) if fault.is::<LengthLimitError>() => Err(DemoRefusal::too_large(MAX_BODY)),
        Err(fault) => Err(DemoRefusal::invalid(format!(
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

fn whole(status: StatusCode, json: String) -> Response<TimedBody> {
    let mut response = Response::new(TimedBody::whole(json));
    *response.status_mut() = status;
    set(&mut response, header::CONTENT_TYPE, "application/json");
    response
}

fn streamed(events: VecDeque<Bytes>, pace: ReplyPace) -> Response<TimedBody> {
    let mut response = Response::new(TimedBody::paced(events, pace));
    set(
        &mut response,
        header::CONTENT_TYPE,
        "text/event-stream; charset=utf-8",
    );
    set(&mut response, header::CACHE_CONTROL, "no-cache");
    response
}

fn set(response: &mut Response<TimedBody>, name: header::HeaderName, value: &'static str) {
    response
        .headers_mut()
        .insert(name, HeaderValue::from_static(value));
}

/// Counts requests, so that each has an id.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// The largest body, as with the vendor.
const MAX_BODY: usize = 32 * 1024 * 1024;
