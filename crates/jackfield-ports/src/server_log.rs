//! Log messages of servers, for the callers of their tools.

use serde_json::Value;

/// A log message that a server sent during a call.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerLogMessage {
    /// The content: text, or any other value.
    pub data: Value,
    /// Its level.
    pub level: LogLevel,
    /// The part of the server that it comes from.
    pub logger: Option<String>,
}

/// The level of a log message, the least important first (RFC 5424).
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum LogLevel {
    /// Details for a developer.
    Debug,
    /// What happens.
    Info,
    /// What is worth noting.
    Notice,
    /// What may be wrong.
    Warning,
    /// What went wrong.
    Error,
    /// A part has failed.
    Critical,
    /// Something must be done at once.
    Alert,
    /// Nothing works.
    Emergency,
}

impl LogLevel {
    /// All levels, in order.
    pub const ALL: [Self; 8] = [
        Self::Debug,
        Self::Info,
        Self::Notice,
        Self::Warning,
        Self::Error,
        Self::Critical,
        Self::Alert,
        Self::Emergency,
    ];

    /// Its name in the protocol.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
            Self::Alert => "alert",
            Self::Emergency => "emergency",
        }
    }

    /// The level of this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == name)
    }
}
