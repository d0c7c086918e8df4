//! The settings of the server.

use std::time::Duration;

/// The settings of all connections.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ServerSettings {
    /// Whether questions for a person, forms and pages, are passed on to clients that can be asked.
    pub asks_people: bool,
    /// How often the offered tools are compared for a client that wants to know of changes. Each comparison may ask
    /// MCP servers for their lists.
    pub change_check: Duration,
    /// How long calls may run after the end of input; `rmcp` allows five seconds at most.
    pub grace: Duration,
    /// The maximum length of a message, in bytes.
    pub max_message: usize,
    /// The maximum number of concurrent calls of a connection, or of a session over HTTP; more wait. Over HTTP, a
    /// request of the newest revision is a connection of its own: the caller bounds how many there are at once.
    pub most_calls: usize,
    /// The maximum number of unanswered requests; more are refused.
    pub most_requests: usize,
    /// The server's name, as sent to clients.
    pub name: String,
    /// Over HTTP, how long a response may take before the client gets a stream, which can be kept alive.
    pub stream_after: Duration,
    /// The server's version, as sent to clients.
    pub version: String,
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self {
            asks_people: true,
            change_check: Duration::from_secs(15),
            grace: Duration::from_millis(500),
            max_message: 4 << 20,
            most_calls: 64,
            most_requests: 1024,
            name: "jackfield".to_owned(),
            stream_after: Duration::from_secs(10),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}
