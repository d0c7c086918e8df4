//! An observer of MCP requests that keeps what it sees.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jackfield_ports::mcp_observer::{McpObserver, McpObservers, McpRequest, McpSession};

/// Keeps the requests and sessions that it sees. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct RecordingMcpObserver {
    exports_traces: bool,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Debug, Default)]
struct Seen {
    requests: Vec<McpRequest>,
    sessions: Vec<McpSession>,
}

impl RecordingMcpObserver {
    /// An observer that wants a span for each request of a client.
    #[must_use]
    pub fn exporting() -> Self {
        Self {
            exports_traces: true,
            ..Self::default()
        }
    }

    /// This observer alone.
    #[must_use]
    pub fn observers(&self) -> McpObservers {
        let observer: Arc<dyn McpObserver> = Arc::new(self.clone());
        [observer].into_iter().collect()
    }

    /// The requests so far, without their times.
    #[must_use]
    pub fn requests(&self) -> Vec<McpRequest> {
        let requests = self.seen().requests.clone().into_iter();
        let timeless = requests.map(|request| McpRequest {
            took: Duration::ZERO,
            ..request
        });
        timeless.collect()
    }

    /// The sessions so far, without their times.
    #[must_use]
    pub fn sessions(&self) -> Vec<McpSession> {
        let sessions = self.seen().sessions.clone().into_iter();
        let timeless = sessions.map(|session| McpSession {
            took: Duration::ZERO,
            ..session
        });
        timeless.collect()
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl McpObserver for RecordingMcpObserver {
    fn request_ended(&self, request: &McpRequest) {
        self.seen().requests.push(request.clone());
    }

    fn session_ended(&self, session: &McpSession) {
        self.seen().sessions.push(session.clone());
    }

    fn exports_traces(&self) -> bool {
        self.exports_traces
    }
}
