//! Recorded requests of clients.

use bytes::Bytes;
use tokio::sync::watch;

use super::ConnectionEnd;

/// A request as received.
#[derive(Clone, Debug)]
pub struct RecordedRequest {
    /// The body, without any chunk framing.
    pub body: Bytes,
    /// The index of its connection, from 0.
    pub connection: usize,
    /// The headers in order; names in lower case.
    pub headers: Vec<(String, String)>,
    /// The method.
    pub method: String,
    /// Path and query, as in the request line.
    pub path: String,
    /// The end of its connection.
    pub(super) end: watch::Receiver<ConnectionEnd>,
}

impl RecordedRequest {
    /// The first header with this name, ignoring case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self
            .headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// Whether its connection is still open.
    #[must_use]
    pub fn is_open(&self) -> bool {
        *self.end.borrow() == ConnectionEnd::Open
    }

    /// The body as JSON.
    ///
    /// # Panics
    ///
    /// If it is not JSON.
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
