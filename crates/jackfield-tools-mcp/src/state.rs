//! The state of a server as shown to people, and the data remembered for its next start.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::era::Era;
use crate::error::ServerFault;

#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ServerState {
    /// It could not be started, or it ended by itself.
    Failed {
        /// The reason, and what to do.
        fault: ServerFault,
        /// The time from the failure until it may be started again.
        pause: Duration,
    },
    Ready {
        /// The era of its protocol.
        era: Era,
        /// The picture that it has of itself, as a `data:` URL of at most 16 KiB; not verified.
        icon: Option<Arc<str>>,
        /// The name and version that it reported; neither unique nor verified.
        name: Option<String>,
        /// The negotiated revision of the protocol.
        protocol: String,
    },
    Starting,
    /// It is not running, as no request needs it.
    Stopped,
}

/// The data worth keeping for a server's next start. Store it with the server's configuration, and discard it when
/// that changes.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerMemory {
    /// The definitions of its tools as it sent them, in the form that a [`DefinitionGate`](crate::DefinitionGate)
    /// reviews. They let a server be offered before its first call starts it.
    pub definitions: Vec<Arc<Value>>,
    /// The era of its protocol; it saves the probe's time limit at an old server that ignores unknown requests.
    pub era: Era,
}
