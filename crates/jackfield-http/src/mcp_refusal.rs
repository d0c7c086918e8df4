//! Refusals of requests of MCP clients.

use axum::body::Body;
use axum::response::Response;
use http::header::{CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use jackfield_dialect_kit::serve::{ServeDialect as _, ServeError};
use serde_json::json;

use crate::access::RefusalCode;
use crate::{dialects, retry_headers};

/// Whether a path belongs to MCP clients.
pub(crate) fn owns_path(path: &str) -> bool {
    path == PATH || path.starts_with(SETS)
}

/// A refusal as a JSON-RPC error without an id: the request was not read.
pub(crate) fn response(error: ServeError, status: Option<StatusCode>) -> Response {
    // The dialect knows the status of each kind of error.
    let known = dialects::CHAT.error(&error, "");
    let own = StatusCode::from_u16(known.status);
    let status = status.or_else(|| own.ok());
    let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let ServeError { kind, message, .. } = error;
    let error = json!({ "code": REFUSED, "message": message });
    let body = json!({ "jsonrpc": "2.0", "id": null, "error": error });
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(wait) = known.retry_after {
        retry_headers::insert(headers, wait);
    }
    if status == StatusCode::UNAUTHORIZED {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response.extensions_mut().insert(RefusalCode(kind.code()));
    response
}

/// The address of MCP clients.
pub(crate) const PATH: &str = "/mcp";
/// The beginning of the addresses of sets of tools.
pub(crate) const SETS: &str = "/mcp/";
/// A generic error code of JSON-RPC servers.
const REFUSED: i32 = -32000;
