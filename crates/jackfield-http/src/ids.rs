//! The id of a request, and its idempotency key.

use std::io;
use std::sync::Arc;

use http::HeaderMap;
use jackfield_gateway::ids;

/// The idempotency key of a request, if it has one.
///
/// # Errors
///
/// Why the key is invalid, as text for people.
pub(crate) fn idempotency_key(headers: &HeaderMap) -> Result<Option<Arc<str>>, String> {
    let Some(key) = headers.get("idempotency-key") else {
        return Ok(None);
    };
    // Text beyond ASCII is refused like an invalid character.
    ids::idempotency_key(key.to_str().unwrap_or_default()).map(Some)
}

/// The id of a request, which its response repeats.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct RequestId(pub(crate) String);

impl RequestId {
    /// # Errors
    ///
    /// The operating system has no random numbers.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(format!("req_{}", ids::random()?)))
    }
}
