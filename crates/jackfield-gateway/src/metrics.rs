//! The port to the metrics of a gateway.

use std::fmt;
use std::time::Duration;

use jackfield_engine::Engine;

/// Counts requests, and writes the page of all metrics.
pub trait GatewayMetrics: fmt::Debug + Send + Sync {
    /// Counts a request that has ended. It must not block.
    fn request_ended(&self, request: &EndedRequest<'_>);

    /// All metrics, in the text format of OpenMetrics 1.0.
    fn page(&self, engine: &Engine) -> String;
}

/// A request whose response was sent, or whose client has disconnected.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct EndedRequest<'r> {
    /// The error code of a missing or incomplete response.
    pub error: Option<&'r str>,
    /// Its method.
    pub method: &'r str,
    /// The template of its path, such as `/api/v1/sessions/{id}`; empty for a path without one.
    pub route: &'r str,
    /// The status of its response; `None` if the client disconnected first.
    pub status: Option<u16>,
    /// The time from its head to the end of its response.
    pub took: Duration,
}
