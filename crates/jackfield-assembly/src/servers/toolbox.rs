//! A configured server as a toolbox: with its variables filled in, or with the reason why it cannot be used.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use jackfield_domain::tool::ToolSpec;
use jackfield_engine::{EngineBuilder, ToolboxStatus};
use jackfield_ports::toolbox::Toolbox;
use jackfield_tools_mcp::{
    ClientSettings, Era, GuardProgram, McpToolbox, ServerConfig, ServerFault,
};

use crate::registry::Registry;
use crate::servers::expand::expand;
use crate::servers::managed_server::{BrokenServer, ManagedServer, StartReport};
use crate::servers::memory::ToolListFile;
use crate::servers::pins::{AcceptError, ChangedTool, PinNotice, Pins};
use crate::servers::prompt::Prompt;
use crate::servers::{GUARD, McpServerEntry};
use crate::surroundings::Environment;

/// An MCP server of an assembly. Cloning shares it.
#[derive(Clone)]
#[non_exhaustive]
pub struct ServerToolbox {
    /// What is configured of it.
    pub config: Arc<McpServerEntry>,
    kind: ServerSource,
}

#[derive(Clone)]
enum ServerSource {
    Off,
    Usable(Arc<Prompt>),
    Wrong(ServerFault, Arc<StartReport>),
}

/// What holds for all servers: where something is kept of them, and how long they are waited for.
#[derive(Clone, Debug)]
pub(crate) struct ServerPaths<'a> {
    /// What may be deleted.
    pub(crate) cache: Option<&'a Path>,
    /// What has to stay.
    pub(crate) data: Option<&'a Path>,
    pub(crate) start_wait: Duration,
    pub(crate) teller: PinNotice,
}

/// How a server is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ServerStatus {
    /// It cannot be used.
    Failed {
        /// What to do.
        advice: String,
        /// What happened.
        reason: String,
    },
    /// It is switched off.
    Off,
    /// It runs.
    Ready {
        /// Its own name and version, if it says them; not to be believed.
        name: Option<String>,
        /// The revision of the protocol that is spoken with it.
        protocol: String,
        /// Whether that is without a handshake, as from 2026-07-28 on.
        stateless: bool,
    },
    /// It is being started.
    Starting,
    /// Nobody has needed it.
    Stopped,
}

/// What came of trying a server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerTest {
    /// What is not as it should be, each in a sentence.
    pub problems: Vec<String>,
    /// Its tools that are neither offered nor called, because their definitions are not the accepted
    /// ones.
    pub quarantined: Vec<Arc<str>>,
    /// How it is.
    pub state: ServerStatus,
    /// How long it took until its tools were known, or until it failed.
    pub took: Duration,
    /// Its tools.
    pub tools: Vec<ToolSpec>,
    /// Whether it can be used.
    pub usable: bool,
}

impl ServerToolbox {
    /// A server of which something may be kept in these places.
    pub(crate) fn new(
        config: &McpServerEntry,
        environment: &Environment,
        places: &ServerPaths<'_>,
        registry: &Registry,
    ) -> Self {
        let kind = if !config.enabled {
            ServerSource::Off
        } else {
            match filled_in(config, environment) {
                Ok(server) => {
                    let memory = places.cache.map(|cache| ToolListFile::new(cache, config));
                    let pins = Pins::new(places.data, config, &places.teller);
                    let mcp = McpToolbox::new(server, settings(config, registry));
                    let telling = StartReport::new(config.id.clone(), registry.discreet);
                    let running = ManagedServer::new(mcp, memory, pins, config, telling);
                    let prompt = Prompt::new(running, places.start_wait, registry.discreet);
                    ServerSource::Usable(Arc::new(prompt))
                }
                Err(fault) => {
                    let telling = StartReport::new(config.id.clone(), registry.discreet);
                    ServerSource::Wrong(fault, Arc::new(telling))
                }
            }
        };
        Self {
            config: Arc::new(config.clone()),
            kind,
        }
    }

    /// Adds it to an engine.
    pub(crate) fn join(&self, builder: EngineBuilder) -> EngineBuilder {
        let standing = ToolboxStatus {
            prefix: self.config.prefix.clone(),
            trusted: self.config.trusted,
        };
        match &self.kind {
            ServerSource::Off => builder,
            ServerSource::Usable(prompt) => builder.toolbox_as(Arc::clone(prompt) as _, standing),
            ServerSource::Wrong(fault, telling) => {
                let wrong = BrokenServer {
                    fault: fault.clone(),
                    telling: Arc::clone(telling),
                };
                builder.toolbox_as(Arc::new(wrong), standing)
            }
        }
    }

    /// How it is.
    #[must_use]
    pub fn state(&self) -> ServerStatus {
        match &self.kind {
            ServerSource::Off => ServerStatus::Off,
            ServerSource::Usable(prompt) => prompt.running.mcp.state().into(),
            ServerSource::Wrong(fault, _) => fault.clone().into(),
        }
    }

    /// The definitions that were not the accepted ones when its tools were listed last, what it says of
    /// itself included.
    #[must_use]
    pub fn changed(&self) -> Vec<ChangedTool> {
        match &self.kind {
            ServerSource::Off | ServerSource::Wrong(..) => Vec::new(),
            ServerSource::Usable(prompt) => prompt.running.pins.changed(),
        }
    }

    /// Accepts these definitions: what was shown, and not what it may say by now. All of them or none.
    /// The next list offers them. Waits for the disk, and for other processes that write there.
    ///
    /// # Errors
    ///
    /// [`AcceptError`] if that cannot be kept.
    pub fn accept(&self, shown: &[ChangedTool]) -> Result<(), AcceptError> {
        match &self.kind {
            ServerSource::Off | ServerSource::Wrong(..) => Ok(()),
            ServerSource::Usable(prompt) => prompt.running.pins.accept(shown),
        }
    }

    /// What it said last on standard error, and what on standard output was not the protocol; the
    /// oldest line first.
    #[must_use]
    pub fn log(&self) -> Vec<String> {
        match &self.kind {
            ServerSource::Off | ServerSource::Wrong(..) => Vec::new(),
            ServerSource::Usable(prompt) => prompt.running.mcp.log(),
        }
    }

    /// Starts it, and asks for its tools.
    pub async fn test(&self) -> ServerTest {
        let since = Instant::now();
        let mut tested = ServerTest {
            problems: Vec::new(),
            quarantined: Vec::new(),
            state: self.state(),
            took: Duration::ZERO,
            tools: Vec::new(),
            // What is switched off is as it should be.
            usable: matches!(self.kind, ServerSource::Off),
        };
        if let ServerSource::Usable(prompt) = &self.kind {
            let running = &prompt.running;
            let started = running.mcp.start().await;
            let listed = match &started {
                Ok(()) => Toolbox::list(&**running).await,
                Err(_) => Ok(Vec::new()),
            };
            tested.took = since.elapsed();
            let started_well = started.is_ok();
            tested.state = match started {
                Ok(()) => running.mcp.state().into(),
                Err(fault) => fault.into(),
            };
            tested.usable = started_well && listed.is_ok();
            match listed {
                Ok(tools) => tested.tools = tools,
                Err(error) => tested.problems.push(error.to_string()),
            }
            tested.problems.extend(running.problems());
            let unusable = tested.tools.iter().filter_map(jackfield_engine::unusable);
            tested.problems.extend(unusable);
            let changed = running.pins.changed();
            let tools = changed.into_iter().map(|one| one.tool);
            tested.quarantined = tools.filter(|tool| !tool.is_empty()).collect();
            if running.mcp.log().iter().any(|line| line.starts_with(NOISE)) {
                let noise = "it writes to standard output what is not the protocol; \
                             have it log to standard error, or switch its banner off";
                tested.problems.push(noise.to_owned());
            }
        }
        tested
    }

    /// The same, waited for no longer than a turn waits. It goes on starting.
    pub async fn look(&self) -> ServerTest {
        let ServerSource::Usable(prompt) = &self.kind else {
            return self.test().await;
        };
        let wait = prompt.wait;
        let tested = tokio::time::timeout(wait, self.test()).await;
        tested.unwrap_or_else(|_| ServerTest {
            problems: vec![format!(
                "it has not listed its tools within {} s; `jackfield mcp test {}` waits longer",
                wait.as_secs_f64(),
                self.config.id
            )],
            quarantined: Vec::new(),
            state: self.state(),
            took: wait,
            tools: Vec::new(),
            usable: false,
        })
    }

    /// Waits until it has started and listed its tools, or failed to, where a turn did not wait for that. Says
    /// whether there was anything to wait for.
    pub async fn caught_up(&self) -> bool {
        match &self.kind {
            ServerSource::Off | ServerSource::Wrong(..) => false,
            ServerSource::Usable(prompt) => prompt.caught_up().await,
        }
    }

    /// Ends it, if it runs; takes a few seconds at most.
    pub async fn stop(&self) {
        if let ServerSource::Usable(prompt) = &self.kind {
            prompt.running.mcp.stop().await;
        }
    }
}

impl std::fmt::Debug for ServerToolbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("config", &self.config)
            .field("state", &self.state())
            .finish()
    }
}

impl From<ServerFault> for ServerStatus {
    fn from(fault: ServerFault) -> Self {
        let ServerFault { advice, reason } = fault;
        Self::Failed { advice, reason }
    }
}

impl From<jackfield_tools_mcp::ServerState> for ServerStatus {
    fn from(state: jackfield_tools_mcp::ServerState) -> Self {
        use jackfield_tools_mcp::ServerState as State;
        match state {
            State::Failed { fault, .. } => fault.into(),
            State::Ready {
                era,
                name,
                protocol,
            } => Self::Ready {
                name,
                protocol,
                stateless: era == Era::Stateless,
            },
            State::Starting => Self::Starting,
            State::Stopped => Self::Stopped,
        }
    }
}

/// The server with its variables filled in.
fn filled_in(
    config: &McpServerEntry,
    environment: &Environment,
) -> Result<ServerConfig, ServerFault> {
    let fill = |what: &str, text: &str| {
        expand(text, environment).map_err(|why| ServerFault {
            advice: format!(
                "correct it in {}, or set it",
                config.place.origin_in_words()
            ),
            reason: format!("its `{what}` cannot be filled in: {why}"),
        })
    };
    let mut server = ServerConfig::new(config.id.clone(), fill("command", &config.command)?);
    for argument in &config.arguments {
        server.arguments.push(fill("args", argument)?);
    }
    for (name, value) in &config.environment {
        let value = fill(&format!("env.{name}"), value)?;
        server.environment.push((name.to_string(), value));
    }
    let (base, home) = &config.base;
    let folder = config.folder.as_ref().map(|folder| fill("cwd", folder));
    server.folder = folder.transpose()?.map(|folder| {
        let below_home = folder
            .strip_prefix("~/")
            .or_else(|| (folder == "~").then_some(""));
        match (below_home, home) {
            (Some(rest), Some(home)) => home.join(rest),
            (Some(_) | None, _) => base.join(PathBuf::from(&folder)),
        }
    });
    if let Some(timeout) = config.timeout {
        server.call_limit = timeout;
    }
    server.tools = config.tools.clone();
    server.trusted = config.trusted;
    Ok(server)
}

fn settings(config: &McpServerEntry, registry: &Registry) -> ClientSettings {
    let mut settings = ClientSettings {
        tells_why: !registry.discreet,
        ..ClientSettings::default()
    };
    if registry.guarded {
        // A program that does not know its own path goes without.
        settings.guard = GuardProgram::this_program(GUARD).ok();
    }
    if let Some(limit) = config.start_timeout {
        settings.start_limit = limit;
    }
    settings
}

/// What the log says before such a line.
const NOISE: &str = "[not the protocol, on standard output]";
