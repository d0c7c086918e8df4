//! The API key of a request.

pub(crate) mod cookies;
mod places;

use std::sync::Arc;

use axum::body::Body;
use http::header::AUTHORIZATION;
use http::{Extensions, HeaderMap, HeaderValue, Request, Uri};
use jackfield_dialect_kit::serve::ServeError;
use jackfield_gateway::{Gateway, Principal};
use percent_encoding::percent_decode_str;

pub(crate) use self::places::{OpenPlace, Places};

/// Authenticates a request by `Authorization: Bearer`, `x-api-key` or `x-goog-api-key`.
///
/// # Errors
///
/// The request has no key, or one that is not accepted.
pub(crate) async fn authenticate(
    gateway: &Gateway,
    headers: &HeaderMap,
    extensions: &Extensions,
) -> Result<Arc<Principal>, ServeError> {
    let client = gateway.authenticate(key(headers)).await?;
    is_known(&client, extensions);
    Ok(client)
}

/// Notes whose the connection of a request is.
pub(crate) fn is_known(client: &Principal, extensions: &Extensions) {
    if let Some(place) = extensions.get::<OpenPlace>() {
        place.belongs_to(&client.principal);
    }
}

/// The key of a request.
pub(crate) fn key(headers: &HeaderMap) -> Option<&str> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let bearer = text(AUTHORIZATION.as_str()).and_then(bearer);
    bearer
        .or_else(|| text("x-api-key"))
        .or_else(|| text(GOOGLE_KEY))
}

/// Moves the parameter `key` of an address into the header in which Gemini's clients usually send it: an address is
/// shown in errors and logs. The header of the client counts, if there is one.
pub(crate) fn move_key(request: &mut Request<Body>) {
    let Some(query) = request.uri().query() else {
        return;
    };
    let is_key = |pair: &&str| pair.split('=').next() == Some("key");
    let Some(pair) = query.split('&').find(is_key) else {
        return;
    };
    let written = pair.split_once('=').map_or("", |(_, key)| key);
    let key = percent_decode_str(written).decode_utf8_lossy();
    let key = HeaderValue::from_str(&key).ok().map(|mut key| {
        key.set_sensitive(true);
        key
    });
    let rest: Vec<&str> = query.split('&').filter(|pair| !is_key(pair)).collect();
    let path = request.uri().path();
    let address = if rest.is_empty() {
        path.to_owned()
    } else {
        format!("{path}?{}", rest.join("&"))
    };
    let mut parts = request.uri().clone().into_parts();
    // The parts of an address make one again.
    parts.path_and_query = address.parse().ok();
    *request.uri_mut() = Uri::from_parts(parts).unwrap_or_default();
    if let Some(key) = key {
        request.headers_mut().entry(GOOGLE_KEY).or_insert(key);
    }
}

/// The token after the scheme, which is case-insensitive (RFC 9110, section 11.1).
fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token)
}

/// The header for the key of Gemini's clients.
const GOOGLE_KEY: &str = "x-goog-api-key";
