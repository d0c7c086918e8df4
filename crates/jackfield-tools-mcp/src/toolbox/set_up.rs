//! A toolbox before its first request: its configuration, and what it is given.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, OnceLock};

use jackfield_ports::mcp_observer::McpObservers;
use jackfield_provider_kit::transport::Transport;
use tokio::sync::watch;

use super::{McpToolbox, OfferedTools, lock};
use crate::auth::Authorization;
use crate::config::{ClientSettings, ServerConfig};
use crate::connection::HttpReach;
use crate::gate::DefinitionGate;
use crate::log::Log;
use crate::mapping::definition;
use crate::state::{ServerMemory, ServerState};
use crate::supervisor::ServerHandle;

impl McpToolbox {
    /// A server that is not running yet.
    #[must_use]
    pub fn new(config: ServerConfig, settings: ClientSettings) -> Self {
        let log = Log::new(settings.log_lines, settings.log_bytes, config.secrets());
        let shared = ServerHandle {
            config,
            era: Mutex::default(),
            log: Arc::new(log),
            observers: McpObservers::default(),
            reach: HttpReach::default(),
            settings,
            state: watch::Sender::new(ServerState::Stopped),
        };
        Self {
            commands: OnceLock::new(),
            connections: Mutex::default(),
            gate: None,
            offered: Mutex::default(),
            listing_count: AtomicU64::new(0),
            problems: Mutex::default(),
            skipped: Mutex::default(),
            shared: Arc::new(shared),
        }
    }

    /// Reaches the server's endpoint through this HTTP client instead of one of its own: with its proxy, its
    /// certificates and its time limits.
    #[must_use]
    pub fn over(mut self, transport: Transport) -> Self {
        // Nothing shares the handle before the first request.
        if let Some(shared) = Arc::get_mut(&mut self.shared) {
            shared.reach.transport = Some(transport);
        }
        self
    }

    /// Reports each request to the server, and each session with it, to these observers.
    #[must_use]
    pub fn observed_by(mut self, observers: McpObservers) -> Self {
        // Nothing shares the handle before the first request.
        if let Some(shared) = Arc::get_mut(&mut self.shared) {
            shared.observers = observers;
        }
        self
    }

    /// Sends the token of this sign-in with every request to the server's endpoint.
    #[must_use]
    pub fn authorized(mut self, authorization: Arc<Authorization>) -> Self {
        // Nothing shares the handle before the first request.
        if let Some(shared) = Arc::get_mut(&mut self.shared) {
            shared.reach.authorization = Some(authorization);
        }
        self
    }

    /// The sign-in at the server's endpoint, if it has one.
    #[must_use]
    pub fn authorization(&self) -> Option<&Arc<Authorization>> {
        self.shared.reach.authorization.as_ref()
    }

    /// Adds remembered data: the server is offered with these tools, and started by the first call of one of them.
    #[must_use]
    pub fn remembering(self, remembered: ServerMemory) -> Self {
        let ServerMemory { definitions, era } = remembered;
        let config = &self.shared.config;
        let defined = definitions.iter().filter_map(|said| {
            definition::tool(&said.to_string(), config.trusted, config.max_duration()).ok()
        });
        let defined = defined.collect();
        *lock(&self.shared.era) = Some(era);
        *lock(&self.offered) = Some(OfferedTools { defined, era });
        self
    }

    /// Adds a gate that decides which of the server's definitions may be used.
    #[must_use]
    pub fn gated(mut self, gate: Arc<dyn DefinitionGate>) -> Self {
        self.gate = Some(gate);
        self
    }
}
