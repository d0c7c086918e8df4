//! The routes of the gateway.

use axum::body::Body;
use axum::extract::{MatchedPath, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{any, get, post};
use axum::{Extension, Router};
use http::header::{CONNECTION, CONTENT_TYPE, UPGRADE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri};
use jackfield_dialect_kit::serve::{ServeError, ServeErrorKind};
use jackfield_gateway::Gateway;
use jackfield_mcp_server::HttpService;

use crate::access::Access;
use crate::auth::authenticate;
use crate::refusal::{HttpRefusal, RefusalForm, json};
use crate::{
    api, auth, counting, dialects, flow, listing, mcp, mcp_refusal, passthrough, refusal, stored,
    web_page,
};

/// The router with all paths of the gateway.
pub fn router(gateway: &Gateway) -> Router {
    with_mcp(gateway, HttpService::new())
}

/// The same with these sessions of MCP clients.
pub(crate) fn with_mcp(gateway: &Gateway, mcp: HttpService) -> Router {
    Router::new()
        .merge(api::router(gateway))
        .route("/", get(web_page::answer))
        .route("/ui/{*file}", get(web_page::answer))
        // Claude clients probe for a server before their first request.
        .route("/api/hello", get(hello))
        .route("/metrics", get(metrics))
        .route("/v1/chat/completions", post(chat))
        .route("/v1/messages", post(messages))
        .route("/v1/messages/count_tokens", post(counting::answer))
        .route("/v1/models", get(listing::all))
        .route("/v1/models/{*id}", get(listing::one).post(generate))
        .route("/v1/responses", post(responses))
        .route(
            "/v1/responses/{id}",
            get(stored::show).delete(stored::withdraw),
        )
        .route("/v1/responses/{id}/cancel", post(stored::cancel))
        .route("/v1/responses/{id}/input_items", get(stored::input_items))
        // The vendor's newest SDK for Python asks below `/v1`, the others here.
        .route("/v1beta/models", get(listing::all_of_gemini))
        .route(
            "/v1beta/models/{*id}",
            get(listing::one_of_gemini).post(generate),
        )
        .route(
            mcp_refusal::PATH,
            any(mcp::answer).layer(Extension(mcp.clone())),
        )
        .route("/mcp/{name}", any(mcp::answer).layer(Extension(mcp)))
        .fallback(further)
        .method_not_allowed_fallback(wrong_method)
        .layer(middleware::from_fn(write_refusal))
        .layer(middleware::map_request(key_of_address))
        .with_state(gateway.clone())
}

/// Writes the refusal of a request in the language of its path, and notes the path's template.
async fn write_refusal(request: Request<Body>, next: Next) -> Response {
    let extensions = request.extensions();
    if let (Some(access), Some(path)) =
        (extensions.get::<Access>(), extensions.get::<MatchedPath>())
    {
        access.record_route(path);
    }
    let form = RefusalForm::of(&request);
    form.write(next.run(request).await)
}

/// Moves a key out of the address of a request, as Gemini's clients may put it there, before anything reads the address.
async fn key_of_address(mut request: Request<Body>) -> Request<Body> {
    let path = request.uri().path();
    if path.starts_with(dialects::GEMINI_PATHS) || path.starts_with(dialects::MODELS) {
        auth::move_key(&mut request);
    }
    request
}

async fn chat(
    State(gateway): State<Gateway>,
    request: Request<Body>,
) -> Result<Response, HttpRefusal> {
    let dialect = if gateway.config().extensions {
        &dialects::CHAT_EXTENDED
    } else {
        &dialects::CHAT
    };
    flow::answer(&gateway, dialect, request).await
}

async fn messages(
    State(gateway): State<Gateway>,
    request: Request<Body>,
) -> Result<Response, HttpRefusal> {
    flow::answer(&gateway, &dialects::CLAUDE, request).await
}

async fn generate(
    State(gateway): State<Gateway>,
    request: Request<Body>,
) -> Result<Response, HttpRefusal> {
    if dialects::GEMINI.counts_tokens(request.uri().path()) {
        return counting::answer_in_gemini(&gateway, request).await;
    }
    flow::answer(&gateway, &dialects::GEMINI, request).await
}

async fn responses(
    State(gateway): State<Gateway>,
    request: Request<Body>,
) -> Result<Response, HttpRefusal> {
    flow::answer(&gateway, &dialects::RESPONSES, request).await
}

/// The metrics, for an administrator.
async fn metrics(State(gateway): State<Gateway>, head: Parts) -> Result<Response, HttpRefusal> {
    let client = authenticate(&gateway, &head.headers, &head.extensions).await?;
    let Some(metrics) = &gateway.config().metrics else {
        let message = "there are no metrics: `serve.metrics = true` in the configuration of the gateway shows them";
        return Err(ServeError::new(ServeErrorKind::NoSuchAddress, message).into());
    };
    if !client.admin {
        let message = "metrics are for tokens with `admin = true`";
        return Err(ServeError::new(ServeErrorKind::Forbidden, message).into());
    }
    let mut response = Response::new(Body::from(metrics.page(gateway.engine())));
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    Ok(response)
}

async fn hello() -> Response {
    json("{}")
}

/// Answers at an address that the gateway passes through, if it is one.
async fn further(
    State(gateway): State<Gateway>,
    request: Request<Body>,
) -> Result<Response, HttpRefusal> {
    let path = request.uri().path();
    if gateway.has_endpoint(path) {
        return passthrough::answer(&gateway, request).await;
    }
    Err(refusal::no_such_address(request.uri()))
}

/// A client that wants a WebSocket learns at once that there is none: 426 alone lets Codex fall back to `POST` without a
/// pause (0.171.0, 2026-11-28).
async fn wrong_method(method: Method, uri: Uri, headers: HeaderMap) -> Response {
    let upgrade = headers
        .get(UPGRADE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let wants_socket = upgrade
        .split(',')
        .any(|protocol| protocol.trim().eq_ignore_ascii_case("websocket"));
    let (status, message) = if wants_socket {
        let message = "there are no WebSockets here: send the request by POST".to_owned();
        (StatusCode::UPGRADE_REQUIRED, message)
    } else {
        let message = format!("{method} is not for {}", uri.path());
        (StatusCode::METHOD_NOT_ALLOWED, message)
    };
    let refusal = HttpRefusal {
        error: ServeError::new(ServeErrorKind::NoSuchAddress, message),
        status: Some(status),
    };
    let mut response = refusal.into_response();
    if wants_socket {
        let headers = response.headers_mut();
        headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(UPGRADE, HeaderValue::from_static("HTTP/1.1"));
    }
    response
}
