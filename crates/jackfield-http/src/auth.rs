//! The API key of a request.

use std::sync::Arc;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use jackfield_dialect_kit::serve::ServeError;
use jackfield_gateway::{Gateway, Principal};

/// Authenticates a request by `Authorization: Bearer` or `x-api-key`.
///
/// # Errors
///
/// The request has no key, or an unknown one.
pub(crate) fn authenticate(
    gateway: &Gateway,
    headers: &HeaderMap,
) -> Result<Arc<Principal>, ServeError> {
    gateway.authenticate(key(headers))
}

/// The key of a request.
pub(crate) fn key(headers: &HeaderMap) -> Option<&str> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let bearer = text(AUTHORIZATION.as_str()).and_then(bearer);
    bearer.or_else(|| text("x-api-key"))
}

/// The token after the scheme, which is case-insensitive (RFC 9110, section 11.1).
fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token)
}
