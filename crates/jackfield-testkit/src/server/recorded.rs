//! What a client asked.

use bytes::Bytes;
use tokio::sync::watch;

use super::ConnectionEnd;

/// A request as it came.
#[derive(Clone, Debug)]
pub struct RecordedRequest {
    /// The body, without any chunk framing.
    pub body: Bytes,
    /// On which connection it came, from 0.
    pub connection: usize,
    /// The headers in their order; names in lower case.
    pub headers: Vec<(String, String)>,
    /// The method.
    pub method: String,
    /// Path and query, as they stood in the request line.
    pub path: String,
    /// How the connection ended.
    pub(super) end: watch::Receiver<ConnectionEnd>,
}

impl RecordedRequest {
    /// The first header of this name, in any case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self
            .headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// Whether the connection that it came on is still open.
    #[must_use]
    pub fn is_open(&self) -> bool {
        *self.end.borrow() == ConnectionEnd::Open
    }

    /// The body as JSON.
    ///
    /// # Panics
    ///
    /// If it is not.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        match serde_json::from_slice(&self.body) {
            Ok(value) => value,
            Err(fault) => panic!(
                "the body of {} {} is not JSON: {fault}: {}",
                self.method,
                self.path,
                self.text()
            ),
        }
    }

    /// The body as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}
