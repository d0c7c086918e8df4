//! The page that displays the API document: three small files of our own, without external resources.

use axum::body::Body;
use axum::response::Response;
use http::HeaderValue;
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};

pub(crate) async fn html() -> Response {
    file("text/html; charset=utf-8", include_str!("page/page.html"))
}

pub(crate) async fn css() -> Response {
    file("text/css; charset=utf-8", include_str!("page/page.css"))
}

pub(crate) async fn js() -> Response {
    file(
        "text/javascript; charset=utf-8",
        include_str!("page/page.js"),
    )
}

fn file(kind: &'static str, text: &'static str) -> Response {
    let mut response = Response::new(Body::from(text));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// The content security policy: the page loads only its own files, connects only to this server, and cannot be
/// framed.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
