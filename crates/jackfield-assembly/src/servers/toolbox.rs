//! A configured server as a toolbox: with its variables expanded, or with the reason why it cannot be used.

use std::borrow::Cow;
use std::path::{self, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use jackfield_domain::tool::ToolSpec;
use jackfield_ports::mcp_observer::McpObservers;
use jackfield_ports::toolbox::Toolbox;
use jackfield_ports::toolbox_source::{RegisteredToolbox, ToolboxStatus};
use jackfield_provider_kit::guarded::GuardedSettings;
use jackfield_provider_kit::transport::Transport;
use jackfield_tools_mcp::{
    Authorization, ClientSettings, Era, HttpEndpoint, McpToolbox, Root, ServerConfig, ServerFault,
};
use url::Url;

use crate::expand::expand;
use crate::questions::McpQuestions;
use crate::servers::managed_server::{BrokenServer, ManagedServer, StartReport};
use crate::servers::memory::ToolListFile;
use crate::servers::pins::{AcceptError, ChangedTool, PinNotice, Pins};
use crate::servers::prompt::Prompt;
use crate::servers::sign_in::ServerSignIn;
use crate::servers::{McpServerEntry, guard_program};
use crate::surroundings::Environment;

/// An MCP server of an assembly. Clones share it.
#[derive(Clone)]
#[non_exhaustive]
pub struct ServerToolbox {
    /// Its configuration.
    pub config: Arc<McpServerEntry>,
    kind: ServerSource,
    sign_in: Option<ServerSignIn>,
}

#[derive(Clone)]
enum ServerSource {
    Off,
    Usable(Arc<Prompt>),
    Broken(ServerFault, Arc<StartReport>),
}

/// The settings common to all servers.
#[derive(Clone, Debug)]
pub(crate) struct CommonSettings {
    /// The cache folder.
    pub(crate) cache: Option<PathBuf>,
    /// The folder of durable data.
    pub(crate) data: Option<PathBuf>,
    /// The variables that configurations refer to.
    pub(crate) environment: Environment,
    /// Whether they run under a guard process.
    pub(crate) guarded: bool,
    /// The observers of requests to them.
    pub(crate) observers: McpObservers,
    /// The sign-in at the one server that has these settings, which a person has for itself.
    pub(crate) own_sign_in: Option<Arc<Authorization>>,
    /// Whether errors that remote clients see omit details of this machine.
    pub(crate) redact_details: bool,
    /// How long a list of tools is used at least.
    pub(crate) list_lifetime: Duration,
    /// What they may ask during a call.
    pub(crate) questions: McpQuestions,
    pub(crate) start_wait: Duration,
    /// The settings of the client for sign-ins.
    pub(crate) sign_in_network: GuardedSettings,
    /// The HTTP client for servers with an address.
    pub(crate) transport: Transport,
    pub(crate) pin_notice: PinNotice,
}

/// The status of a server.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ServerStatus {
    /// It cannot be used.
    Failed {
        /// Help.
        advice: String,
        /// The reason.
        reason: String,
    },
    /// It is disabled.
    Off,
    /// It runs.
    Ready {
        /// The picture that it has of itself, as a `data:` URL of at most 16 KiB; not trusted.
        icon: Option<Arc<str>>,
        /// Its own name and version, if it sends them; not trusted.
        name: Option<String>,
        /// The negotiated protocol revision.
        protocol: String,
        /// Whether the protocol has no handshake, as from revision 2026-07-28 on.
        stateless: bool,
    },
    /// It is being started.
    Starting,
    /// It was not needed yet.
    Stopped,
}

/// The result of testing a server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerTest {
    /// The problems found, each in one sentence.
    pub problems: Vec<String>,
    /// Its quarantined tools, which are neither offered nor called because their definitions are not the accepted
    /// ones.
    pub quarantined: Vec<Arc<str>>,
    /// Its status.
    pub state: ServerStatus,
    /// How long it took until its tools were listed, or until it failed.
    pub duration: Duration,
    /// Its tools.
    pub tools: Vec<ToolSpec>,
    /// Whether it can be used.
    pub usable: bool,
}

impl ServerToolbox {
    /// A server with these settings.
    pub(crate) fn new(config: &McpServerEntry, common: &CommonSettings) -> Self {
        let (cache, data) = (common.cache.as_deref(), common.data.as_deref());
        let environment = &common.environment;
        let mut sign_in = None;
        let expanded = || {
            let server = expand_config(config, environment)?;
            let network = &common.sign_in_network;
            // What is kept by address would be shared by all owners of servers there.
            let sign_in = match config.owner {
                Some(_) => None,
                None => ServerSignIn::new(config, &server, environment, data, network)?,
            };
            Ok((server, sign_in))
        };
        let kind = if !config.enabled {
            ServerSource::Off
        } else {
            match expanded() {
                Ok((server, found)) => {
                    sign_in = found;
                    let memory = cache.map(|cache| ToolListFile::new(cache, config));
                    let pins = Pins::new(data, config, &common.pin_notice);
                    let mcp = McpToolbox::new(server, settings(config, common));
                    let mcp = mcp.observed_by(common.observers.clone());
                    let mut mcp = mcp.over(common.transport.clone());
                    let configured = sign_in.as_ref().map(ServerSignIn::authorization);
                    if let Some(authorization) = configured.or_else(|| common.own_sign_in.clone()) {
                        mcp = mcp.authorized(authorization);
                    }
                    let start_report = StartReport::new(config.id.clone(), common.redact_details);
                    let running = ManagedServer::new(mcp, memory, pins, config, start_report);
                    let prompt = Prompt::new(running, common.start_wait, common.redact_details);
                    ServerSource::Usable(Arc::new(prompt))
                }
                Err(fault) => {
                    let start_report = StartReport::new(config.id.clone(), common.redact_details);
                    ServerSource::Broken(fault, Arc::new(start_report))
                }
            }
        };
        Self {
            config: Arc::new(config.clone()),
            kind,
            sign_in,
        }
    }

    /// Its client, if it is enabled and can be started.
    pub(crate) fn mcp(&self) -> Option<&McpToolbox> {
        match &self.kind {
            ServerSource::Off | ServerSource::Broken(..) => None,
            ServerSource::Usable(prompt) => Some(&prompt.running.mcp),
        }
    }

    /// The sign-in at its address; `None` if it has no address, or a key in its `headers`.
    #[must_use]
    pub const fn sign_in(&self) -> Option<&ServerSignIn> {
        self.sign_in.as_ref()
    }

    /// As a toolbox of an engine; `None` if it is disabled.
    pub(crate) fn registered(&self) -> Option<RegisteredToolbox> {
        let toolbox: Arc<dyn Toolbox> = match &self.kind {
            ServerSource::Off => return None,
            ServerSource::Usable(prompt) => Arc::clone(prompt) as _,
            ServerSource::Broken(fault, start_report) => Arc::new(BrokenServer {
                fault: fault.clone(),
                start_report: Arc::clone(start_report),
            }),
        };
        let status = ToolboxStatus {
            prefix: self.config.prefix.clone(),
            server: None,
            trusted: self.config.trusted,
        };
        Some(RegisteredToolbox { status, toolbox })
    }

    /// The same server under this configuration, if that concerns neither its process nor its tools.
    pub(crate) fn reconfigured(&self, config: &McpServerEntry) -> Option<Self> {
        config.runs_like(&self.config).then(|| Self {
            config: Arc::new(config.clone()),
            ..self.clone()
        })
    }

    /// Ends it for good, after its open calls, but no later than after `limit`. New calls are refused at once.
    pub(crate) async fn retire(&self, limit: Duration) {
        if let ServerSource::Usable(prompt) = &self.kind {
            prompt.retire(limit).await;
        }
    }

    /// Its status.
    #[must_use]
    pub fn state(&self) -> ServerStatus {
        match &self.kind {
            ServerSource::Off => ServerStatus::Off,
            ServerSource::Usable(prompt) => prompt.running.mcp.state().into(),
            ServerSource::Broken(fault, _) => fault.clone().into(),
        }
    }

    /// The changed definitions of its last listing, including its instructions.
    #[must_use]
    pub fn changed(&self) -> Vec<ChangedTool> {
        match &self.kind {
            ServerSource::Off | ServerSource::Broken(..) => Vec::new(),
            ServerSource::Usable(prompt) => prompt.running.pins.changed(),
        }
    }

    /// Accepts exactly these definitions as shown, all or none. The next listing offers them. Blocks on the disk,
    /// and on other processes that write there.
    ///
    /// # Errors
    ///
    /// [`AcceptError`] if they cannot be stored.
    pub fn accept(&self, changes: &[ChangedTool]) -> Result<(), AcceptError> {
        match &self.kind {
            ServerSource::Off | ServerSource::Broken(..) => Ok(()),
            ServerSource::Usable(prompt) => prompt.running.pins.accept(changes),
        }
    }

    /// Whether the server declares that this tool only reads, by its own name. Nothing but a person's word should
    /// depend on it.
    #[must_use]
    pub fn declares_read_only(&self, tool: &str) -> bool {
        match &self.kind {
            ServerSource::Off | ServerSource::Broken(..) => false,
            ServerSource::Usable(prompt) => prompt.running.mcp.declares_read_only(tool),
        }
    }

    /// The last lines of standard error, and of non-protocol output on standard output; the oldest first.
    #[must_use]
    pub fn log(&self) -> Vec<String> {
        match &self.kind {
            ServerSource::Off | ServerSource::Broken(..) => Vec::new(),
            ServerSource::Usable(prompt) => prompt.running.mcp.log(),
        }
    }

    /// Starts it, and lists its tools.
    pub async fn test(&self) -> ServerTest {
        let since = Instant::now();
        let mut tested = ServerTest {
            problems: Vec::new(),
            quarantined: Vec::new(),
            state: self.state(),
            duration: Duration::ZERO,
            tools: Vec::new(),
            // A disabled server is in order.
            usable: matches!(self.kind, ServerSource::Off),
        };
        if let ServerSource::Usable(prompt) = &self.kind {
            let running = &prompt.running;
            let started = running.mcp.start().await;
            let listed = match &started {
                Ok(()) => Toolbox::list(&**running).await,
                Err(_) => Ok(Vec::new()),
            };
            tested.duration = since.elapsed();
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
            tested.problems.extend(running.skipped_tools());
            let unusable = tested
                .tools
                .iter()
                .filter_map(jackfield_engine::unusable_reason);
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

    /// Tests it, but waits no longer than a turn does. It continues to start.
    pub async fn test_briefly(&self) -> ServerTest {
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
            duration: wait,
            tools: Vec::new(),
            usable: false,
        })
    }

    /// Waits until a start and listing that a turn did not wait for have ended.
    pub async fn wait_for_listing(&self) {
        if let ServerSource::Usable(prompt) = &self.kind {
            prompt.wait_for_listing().await;
        }
    }

    /// Stops it if it runs, within a few seconds.
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
                icon,
                name,
                protocol,
            } => Self::Ready {
                icon,
                name,
                protocol,
                stateless: era == Era::Stateless,
            },
            State::Starting => Self::Starting,
            State::Stopped => Self::Stopped,
        }
    }
}

/// The server with its variables expanded.
fn expand_config(
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
    if let Some(url) = &config.url {
        let url = fill("url", url)?;
        let filled = config.headers.iter().map(|(name, value)| {
            let value = fill(&format!("headers.{name}"), value)?;
            Ok((name.to_string(), value))
        });
        let headers = filled.collect::<Result<_, ServerFault>>()?;
        server.http = Some(HttpEndpoint { headers, url });
    }
    let folder = config.folder.as_ref().map(|folder| fill("cwd", folder));
    server.folder = folder.transpose()?.map(|folder| absolute(config, &folder));
    for root in &config.roots {
        let text = fill("roots", root)?;
        let root = root_of(config, &text).ok_or_else(|| ServerFault {
            advice: format!("correct it in {}", config.place.origin_in_words()),
            reason: format!("one of its `roots` is neither a folder nor a `file://` URI: {text}"),
        })?;
        server.roots.push(root);
    }
    if let Some(timeout) = config.timeout {
        server.call_limit = timeout;
    }
    server.tools = config.tools.clone();
    server.trusted = config.trusted;
    Ok(server)
}

/// A path of the configuration: relative to the file that names it, or below `~`.
fn absolute(config: &McpServerEntry, path: &str) -> PathBuf {
    let (base, home) = &config.base;
    let below_home = path
        .strip_prefix("~/")
        .or_else(|| (path == "~").then_some(""));
    match (below_home, home) {
        (Some(rest), Some(home)) => home.join(rest),
        (Some(_) | None, _) => base.join(path),
    }
}

/// A folder, or a URI of one, as a root.
fn root_of(config: &McpServerEntry, text: &str) -> Option<Root> {
    let url = if text.starts_with("file://") {
        Url::parse(text).ok()?
    } else if text.contains("://") {
        return None;
    } else {
        // `.` and `..` mean nothing in a URI; a folder that does not exist yet keeps its name.
        let path = absolute(config, text);
        let path = path.canonicalize().or_else(|_| path::absolute(&path));
        Url::from_file_path(path.ok()?).ok()?
    };
    let path = url.to_file_path().ok()?;
    let name = path.file_name().map(|name| name.to_string_lossy());
    Some(Root {
        name: name.map(Cow::into_owned),
        uri: url.into(),
    })
}

fn settings(config: &McpServerEntry, common: &CommonSettings) -> ClientSettings {
    let mut settings = ClientSettings {
        asks: common.questions.elicitation,
        expose_faults: !common.redact_details,
        list_lifetime: common.list_lifetime,
        samples: common.questions.sampling,
        ..ClientSettings::default()
    };
    if common.guarded {
        // If the path of this program is unknown, there is no guard.
        settings.guard = guard_program().ok();
    }
    if let Some(limit) = config.start_timeout {
        settings.start_limit = limit;
    }
    settings
}

/// The log prefix of non-protocol output.
const NOISE: &str = "[not the protocol, on standard output]";
