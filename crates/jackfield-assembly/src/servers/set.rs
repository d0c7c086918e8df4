//! The MCP servers of a running program, which others can replace.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jackfield_domain::ids::ToolboxId;
use jackfield_ports::toolbox_source::{ToolboxSet, ToolboxSource};
use tokio::sync::watch;

use crate::servers::McpServerEntry;
use crate::servers::toolbox::{CommonSettings, ServerToolbox};

/// The MCP servers of an assembly, including disabled ones. Clones share them.
#[derive(Clone)]
pub struct ServerSet {
    common: Arc<CommonSettings>,
    servers: Arc<watch::Sender<Vec<ServerToolbox>>>,
}

/// The servers that another configuration added, changed and removed.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct ReplacedServers {
    /// Those that are new.
    pub added: Vec<ToolboxId>,
    /// Those that run with another configuration from now on.
    pub changed: Vec<ToolboxId>,
    /// Those that are gone.
    pub removed: Vec<ToolboxId>,
}

impl ReplacedServers {
    /// Whether nothing was replaced.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.changed.is_empty() && self.removed.is_empty()
    }
}

impl ServerSet {
    /// The servers of these configurations.
    pub(crate) fn new<'a>(
        entries: impl Iterator<Item = &'a McpServerEntry>,
        common: CommonSettings,
    ) -> Self {
        let servers = entries.map(|entry| ServerToolbox::new(entry, &common));
        Self {
            servers: Arc::new(watch::Sender::new(servers.collect())),
            common: Arc::new(common),
        }
    }

    /// The servers at present.
    #[must_use]
    pub fn all(&self) -> Vec<ServerToolbox> {
        self.servers.borrow().clone()
    }

    /// Replaces the servers by those of these configurations. One whose configuration is the same goes on untouched.
    /// One that changed or is gone ends after its open calls, a minute later at the latest; a turn that has it already
    /// gets an error for a further call. A new one is started, unless it is lazy, and no caller waits for it.
    ///
    /// Must be called within a Tokio runtime.
    pub fn replace<'a>(
        &self,
        entries: impl IntoIterator<Item = &'a McpServerEntry>,
    ) -> ReplacedServers {
        let mut before = self.all();
        let (mut servers, mut fresh) = (Vec::new(), Vec::new());
        let (mut replaced, mut retired) = (ReplacedServers::default(), Vec::new());
        let mut is_renamed = false;
        for entry in entries {
            let known = before.iter().position(|one| one.config.id == entry.id);
            let known = known.map(|place| before.swap_remove(place));
            if let Some(same) = known.as_ref().and_then(|known| known.reconfigured(entry)) {
                is_renamed |= known.is_some_and(|known| known.config.prefix != same.config.prefix);
                servers.push(same);
                continue;
            }
            let ids = match known {
                Some(old) => {
                    retired.push(old);
                    &mut replaced.changed
                }
                None => &mut replaced.added,
            };
            ids.push(entry.id.clone());
            let server = ServerToolbox::new(entry, &self.common);
            fresh.push(server.clone());
            servers.push(server);
        }
        replaced.removed = before.iter().map(|one| one.config.id.clone()).collect();
        replaced.removed.sort();
        retired.append(&mut before);
        let is_news = is_renamed || !replaced.is_empty();
        self.servers.send_if_modified(|present| {
            *present = servers;
            is_news
        });
        for server in fresh.into_iter().filter(|server| !server.config.lazy) {
            if let Some(registered) = server.registered() {
                // The result is that of the first turn, which reports a fault.
                tokio::spawn(async move { registered.toolbox.list().await.map(drop) });
            }
        }
        for server in retired {
            tokio::spawn(async move { server.retire(RETIRE_LIMIT).await });
        }
        replaced
    }
}

#[async_trait]
impl ToolboxSource for ServerSet {
    async fn toolboxes(&self, _principal: Option<&str>) -> ToolboxSet {
        let servers = self.all();
        // Names from a server's id take precedence over configured prefixes.
        let (prefixed, plain): (Vec<_>, Vec<_>) = servers
            .iter()
            .partition(|server| server.config.prefix.is_some());
        let ordered = plain.into_iter().chain(prefixed);
        ToolboxSet {
            problems: Vec::new(),
            toolboxes: ordered.filter_map(ServerToolbox::registered).collect(),
        }
    }

    async fn changed(&self) {
        // The sender is this set's own, so it does not end.
        let _changed = self.servers.subscribe().changed().await;
    }
}

impl fmt::Debug for ServerSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.all()).finish()
    }
}

/// How long a replaced server may go on with its open calls.
const RETIRE_LIMIT: Duration = Duration::from_secs(60);
