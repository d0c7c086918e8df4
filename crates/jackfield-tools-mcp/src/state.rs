//! How a server is, for people; and what is remembered of it for the next time.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::error::ServerFault;
use crate::handshake::Era;

/// How a server is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ServerState {
    /// It could not be started, or it ended by itself.
    Failed {
        /// Why, and what to do.
        fault: ServerFault,
        /// When it may be started again, from the moment of failure.
        pause: Duration,
    },
    /// It runs.
    Ready {
        /// How it speaks.
        era: Era,
        /// Its own name and version, if it says them; not unique, and not to be believed.
        name: Option<String>,
        /// The revision of the protocol that is spoken with it.
        protocol: String,
    },
    /// It is being started.
    Starting,
    /// It does not run, and nobody needs it.
    Stopped,
}

/// What is worth remembering of a server until its next start: whoever keeps it keeps it with the
/// server's configuration, and forgets it when that changes.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerMemory {
    /// What it said of its tools, as it said it; of each what a [`DefinitionGate`](crate::DefinitionGate) is shown. A server
    /// that is started by its first call is offered with these.
    pub definitions: Vec<Arc<Value>>,
    /// How it spoke: spares an old server that does not answer what it does not know its wait.
    pub era: Era,
}
