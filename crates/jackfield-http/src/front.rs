//! Applies to every request on any path: request id, access log and metrics, and the headers of every response.

mod browser;

use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use http::header::{CACHE_CONTROL, HOST, STRICT_TRANSPORT_SECURITY, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderMap, HeaderValue, Request};
use hyper::body::Incoming;
use jackfield_gateway::{Gateway, PATH, failures, is_this_machine};
use tower::ServiceExt as _;
use tracing::Instrument as _;

use self::browser::Head;
use crate::access::{Access, UnansweredGuard};
use crate::content::{BodySide, LoggedBody};
use crate::ids::RequestId;
use crate::linger::LingerBody;
use crate::rates::KnownRate;
use crate::receipt::ReceiptLedger;
use crate::refusal::{HttpRefusal, RefusalForm};

pub(crate) async fn answer(
    request: Request<Incoming>,
    gateway: &Gateway,
    ledger: ReceiptLedger,
    router: Router,
) -> Response {
    let begun = Instant::now();
    let id = match RequestId::new() {
        Ok(id) => id,
        Err(error) => {
            let refusal = HttpRefusal::from(failures::internal(&error));
            return RefusalForm::of(&request).write(refusal.into_response());
        }
    };
    let span = tracing::debug_span!(
        "request",
        id = %id.0,
        method = %request.method(),
        path = request.uri().path(),
    );
    let log_content = gateway.config().log_content;
    let mut request = LingerBody::wrap(request).map(|body| {
        if log_content {
            LoggedBody::wrap(body, &id.0, BodySide::Request)
        } else {
            Body::new(body)
        }
    });
    let has_public_name = has_public_name(request.headers());
    request.extensions_mut().insert(id.clone());
    request.extensions_mut().insert(ledger);
    let rate = KnownRate::default();
    request.extensions_mut().insert(rate.clone());
    let is_claude = request.uri().path().starts_with("/v1/messages");
    let (method, path) = (request.method(), request.uri().path());
    let access = Access::new(gateway.config(), &id.0, method, path);
    if let Some(access) = &access {
        request.extensions_mut().insert(access.clone());
    }
    let is_logged = gateway.config().access_log;
    let unanswered = UnansweredGuard::new(access);
    let answered = async {
        let checked = {
            let (headers, method) = (request.headers(), request.method());
            let head = Head {
                headers,
                method,
                uri: request.uri(),
            };
            browser::check(gateway, head).await
        };
        let response = match checked {
            Err(refusal) => RefusalForm::of(&request).write(refusal.into_response()),
            Ok(()) => match router.oneshot(request).await {
                Ok(response) => response,
                Err(never) => match never {},
            },
        };
        if !is_logged && response.status().is_server_error() {
            let (status, took) = (response.status().as_u16(), begun.elapsed());
            tracing::warn!(request = %id.0, status, ?took, "failed");
        }
        let response = if log_content {
            response.map(|body| LoggedBody::wrap(body, &id.0, BodySide::Answer))
        } else {
            response
        };
        unanswered.finish(response)
    };
    let answered = failures::with_request_id(&id.0, answered.instrument(span));
    let mut response = answered.await;
    rate.insert(response.headers_mut(), is_claude);
    let headers = response.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    let entry = headers.entry(CACHE_CONTROL);
    entry.or_insert_with(|| HeaderValue::from_static("no-store"));
    if gateway.is_encrypted() && has_public_name {
        headers.insert(
            STRICT_TRANSPORT_SECURITY,
            HeaderValue::from_static(HALF_A_YEAR),
        );
    }
    if let Ok(value) = HeaderValue::from_str(&id.0) {
        let headers = response.headers_mut();
        // A provider's own reply comes with the provider's id.
        let is_turn = headers.get(PATH).is_none_or(|path| path != "passthrough");
        for name in ["request-id", "x-request-id"] {
            if is_turn || !headers.contains_key(name) {
                headers.insert(name, value.clone());
            }
        }
    }
    response
}

/// Whether a request names a host that is not this machine, on which other programs may speak without TLS.
fn has_public_name(headers: &HeaderMap) -> bool {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    host.is_some_and(|host| !is_this_machine(host))
}

/// That browsers come over TLS alone from now on.
const HALF_A_YEAR: &str = "max-age=15552000";
