//! The provider's own id of a request.

use std::sync::Arc;

use http::HeaderMap;

/// The id, from the provider's own header or, as servers that speak its language have it, from another one.
pub(super) fn of(headers: &HeaderMap, own: &str) -> Option<Arc<str>> {
    let text = |name: &str| headers.get(name)?.to_str().ok();
    let mut ids = [own, "request-id", "x-request-id"].into_iter();
    let id = ids.find_map(|name| text(name).filter(|id| !id.trim().is_empty()))?;
    Some(id.trim().chars().take(LONGEST).collect::<String>().into())
}

/// How many characters of it are kept.
const LONGEST: usize = 128;
