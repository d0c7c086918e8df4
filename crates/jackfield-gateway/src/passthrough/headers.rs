//! The headers of a request for the provider, and what those of a reply say of its body.

use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, HeaderName};
use http::{HeaderMap, HeaderValue};

use super::reply::BodyForm;

/// The client's headers for the provider, without those that are the gateway's own.
pub(super) fn headers_for_upstream(headers: &HeaderMap) -> HeaderMap {
    let is_own = |name: &HeaderName| {
        let name = name.as_str();
        name.starts_with("x-jackfield-") || name == "x-session-id"
    };
    let mut sent = headers.clone();
    let own: Vec<HeaderName> = headers
        .keys()
        .filter(|name| is_own(name))
        .cloned()
        .collect();
    for name in own {
        sent.remove(name);
    }
    // The body was decompressed.
    sent.remove(CONTENT_ENCODING);
    // Usage and model are read in the reply.
    sent.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    sent
}

/// Whether the body of a reply with these headers is compressed.
pub(super) fn is_encoded(headers: &HeaderMap) -> bool {
    let encoding = headers.get(CONTENT_ENCODING);
    encoding.is_some_and(|encoding| encoding != "identity")
}

/// The form of a reply with these headers.
pub(super) fn body_form(headers: &HeaderMap) -> BodyForm {
    let media_type = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let media_type = media_type.and_then(|value| value.split(';').next());
    match media_type
        .map(|value| value.trim().to_ascii_lowercase())
        .as_deref()
    {
        _ if is_encoded(headers) => BodyForm::Opaque,
        Some("application/json") => BodyForm::Json,
        Some("text/event-stream") => BodyForm::Events,
        Some(_) | None => BodyForm::Opaque,
    }
}
