//! The provider's own request id.

use std::sync::Arc;

use http::HeaderMap;

/// The request id, from the provider's own header or, as compatible servers send it, from another one.
pub(super) fn from_headers(headers: &HeaderMap, own: &str) -> Option<Arc<str>> {
    let text = |name: &str| headers.get(name)?.to_str().ok();
    let mut ids = [own, "request-id", "x-request-id"].into_iter();
    let id = ids.find_map(|name| text(name).filter(|id| !id.trim().is_empty()))?;
    Some(
        id.trim()
            .chars()
            .take(MAX_LENGTH)
            .collect::<String>()
            .into(),
    )
}

/// How many characters are kept.
const MAX_LENGTH: usize = 128;
