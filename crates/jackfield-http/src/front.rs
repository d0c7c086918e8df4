//! Applies to every request on any path: request id, origin check, access log and metrics.

use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use http::header::{HOST, ORIGIN};
use http::{HeaderMap, HeaderValue, Request};
use hyper::body::Incoming;
use jackfield_dialect_kit::serve::{ServeError, ServeErrorKind};
use jackfield_gateway::{Gateway, PATH, failures, is_this_machine};
use tower::ServiceExt as _;
use tracing::Instrument as _;

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
        let response = match check_origin(gateway, request.headers()).await {
            Err(error) => RefusalForm::of(&request).write(HttpRefusal::from(error).into_response()),
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

/// Refuses requests of foreign web pages where no token is required. A page of any site could have a browser send
/// requests to this address, also under a host name that the site controls (DNS rebinding). Neither `Host` nor
/// `Origin` names this machine then.
async fn check_origin(gateway: &Gateway, headers: &HeaderMap) -> Result<(), ServeError> {
    let named = |name| headers.get(name).map(|value| value.to_str().unwrap_or(""));
    let foreign = |origin: &str| {
        let host = origin.split_once("://").map(|(_, host)| host);
        !host.is_some_and(is_this_machine)
    };
    let header = if named(HOST).is_some_and(|host| !is_this_machine(host)) {
        "host"
    } else if named(ORIGIN).is_some_and(foreign) {
        "origin"
    } else {
        return Ok(());
    };
    if !gateway.is_open().await? {
        return Ok(());
    }
    let message = format!(
        "the header `{header}` does not name this machine: without tokens, the gateway answers only \
         to `localhost`, `127.0.0.1` and `[::1]`; add a token under [serve.tokens], or a key with \
         `jackfield keys create`, for any other name"
    );
    Err(ServeError::new(ServeErrorKind::Forbidden, message))
}
