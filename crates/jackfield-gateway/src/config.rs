//! The values that a gateway is made of.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::caller::tags::TagNames;
use jackfield_domain::digest::Digest;
use jackfield_domain::directory::EntryName;
use jackfield_domain::ids::ToolName;
use jackfield_domain::request::ModelRef;
use jackfield_domain::tool::ToolOrigin;
use jackfield_engine::{Disconnect, ServerTools, TurnOptions};
use jackfield_ports::identity_provider::IdentityProvider;
use jackfield_ports::upstream::Upstream;
use serde_json::{Map, Value};

use crate::api_keys::ApiKeys;
use crate::metrics::GatewayMetrics;

/// The values that a gateway is made of, besides its engine.
#[derive(Clone)]
pub struct GatewayConfig {
    /// Whether each request is logged.
    pub access_log: bool,
    /// The models of the names that clients may use.
    pub aliases: BTreeMap<Arc<str>, ModelRef>,
    /// The assistants, by name. A name that is an alias, too, is the alias.
    pub assistants: BTreeMap<Arc<str>, AssistantConfig>,
    /// The clients.
    pub api_keys: ApiKeys,
    /// The share of a budget, in percent, from which on its clients are warned; `None` for no warnings.
    pub budget_warning: Option<u32>,
    /// The options of turns, with the default model.
    pub default_options: TurnOptions,
    /// The effect of a client disconnect on a turn that is not in the background.
    pub disconnect: Disconnect,
    /// Whether Chat Completions includes Jackfield's extension fields.
    pub extensions: bool,
    /// Whether there are server tools.
    pub has_tools: bool,
    /// Whether the gateway serves TLS itself.
    pub has_tls: bool,
    /// The keep-alive interval of streams.
    pub keep_alive: Duration,
    /// The limits of clients.
    pub limits: GatewayLimits,
    /// Whether `/mcp` has a tool `approve`, which answers permission questions of other agents.
    pub approve: bool,
    /// Whether `/mcp` has a tool `ask`, which runs a whole turn.
    pub ask: bool,
    /// Whether bodies are logged, too.
    pub log_content: bool,
    /// The metrics, if they are on.
    pub metrics: Option<Arc<dyn GatewayMetrics>>,
    /// The providers without the key that they need, each with the reason in one sentence.
    pub missing_keys: BTreeMap<Arc<str>, String>,
    /// The server tools that a request to a plain model uses without asking, out of those that its token may use.
    pub offered_tools: ServerTools,
    /// The options of turns, by provider.
    pub options: BTreeMap<Arc<str>, TurnOptions>,
    /// How requests are passed through.
    pub passthrough: PassthroughConfig,
    /// The address of the gateway for browsers, without a slash at its end; `None` where only browsers of this machine
    /// reach it.
    pub public_url: Option<Arc<str>>,
    /// The digest of the token in the page's link, which the page needs where no key is required; `None` if it needs none.
    pub page_token: Option<Digest>,
    /// The providers, for the listing.
    pub providers: BTreeMap<Arc<str>, ProviderSummary>,
    /// The MCP servers, for the listing.
    pub servers: Arc<dyn ServerDirectory>,
    /// Whether clients see the calls of server tools, where their dialect supports it.
    pub show_tools: bool,
    /// How people sign in to the page without a key; `None` if they cannot.
    pub sign_in: Option<SignInConfig>,
    /// The names of the tags that are recorded of requests.
    pub tags: TagNames,
    /// The sets of tools for MCP clients, by name.
    pub tool_sets: BTreeMap<Arc<str>, Vec<ToolSetEntry>>,
    /// Whether streaming clients see calls of client tools while the model writes them.
    pub stream_arguments: bool,
    /// Whether the provider is asked for a reply without streaming if the client wants it so and no one else can
    /// follow the turn.
    pub whole_replies: bool,
}

impl GatewayConfig {
    /// The defaults for a gateway whose turns have these options: one client, which is an admin, no server tools
    /// without asking, and the default assistant.
    #[must_use]
    pub fn new(default_options: TurnOptions) -> Self {
        let provider = Arc::clone(&default_options.model.provider);
        Self {
            access_log: true,
            aliases: BTreeMap::new(),
            assistants: BTreeMap::from([(
                DEFAULT_ASSISTANT.into(),
                AssistantConfig::new(DEFAULT_ASSISTANT, default_options.clone()),
            )]),
            api_keys: ApiKeys::open(default_options.server_tools.clone()),
            budget_warning: Some(80),
            disconnect: Disconnect::Finish,
            extensions: false,
            has_tools: false,
            has_tls: false,
            keep_alive: Duration::from_secs(10),
            limits: GatewayLimits::default(),
            approve: false,
            ask: false,
            log_content: false,
            metrics: None,
            missing_keys: BTreeMap::new(),
            passthrough: PassthroughConfig::default(),
            offered_tools: ServerTools::None,
            options: BTreeMap::from([(provider, default_options.clone())]),
            page_token: None,
            public_url: None,
            providers: BTreeMap::new(),
            servers: Arc::new(()),
            show_tools: true,
            sign_in: None,
            tags: TagNames::default(),
            tool_sets: BTreeMap::new(),
            stream_arguments: true,
            whole_replies: true,
            default_options,
        }
    }
}

impl fmt::Debug for GatewayConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GatewayConfig")
            .field("aliases", &self.aliases)
            .field("limits", &self.limits)
            .field("providers", &self.providers)
            .finish_non_exhaustive()
    }
}

/// How people sign in to the page without a key.
#[derive(Clone)]
pub struct SignInConfig {
    /// The users that may see everything and change the directory.
    pub admins: Vec<EntryName>,
    /// What people call the provider.
    pub label: Arc<str>,
    /// The models, routes and assistants that they may name, as patterns; `None` for all.
    pub models: Option<Vec<Arc<str>>>,
    /// The provider.
    pub provider: Arc<dyn IdentityProvider>,
    /// The server tools that they may use.
    pub tools: ServerTools,
}

impl fmt::Debug for SignInConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignInConfig")
            .field("admins", &self.admins)
            .field("provider", &self.provider)
            .finish_non_exhaustive()
    }
}

/// A tool of a set for MCP clients.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSetEntry {
    /// The arguments that every call has.
    pub arguments: Map<String, Value>,
    /// Its description; `None` keeps the tool's own.
    pub description: Option<Arc<str>>,
    /// Its name for clients.
    pub name: ToolName,
    /// The tool.
    pub origin: ToolOrigin,
}

/// How requests are passed through.
#[derive(Clone, Debug, Default)]
pub struct PassthroughConfig {
    /// The endpoints, beside those for messages, whose requests go to the provider of the model that they name.
    pub endpoints: Vec<Arc<str>>,
    /// Whether requests are passed through where nothing speaks for a turn.
    pub is_enabled: bool,
    /// Whether the gateway keeps the responses of the Responses API itself, unless a request says `store: false`.
    pub keeps_responses: bool,
    /// The providers' own APIs, by provider.
    pub upstreams: BTreeMap<Arc<str>, PassthroughUpstream>,
}

/// A provider's own API.
#[derive(Clone, Debug)]
pub struct PassthroughUpstream {
    /// Whether requests for its models are passed through.
    pub is_enabled: bool,
    /// The API.
    pub upstream: Arc<dyn Upstream>,
}

/// An assistant: a model with a prompt, server tools, limits and settings of its own, under a name that clients use as
/// a model's.
#[derive(Clone, Debug)]
pub struct AssistantConfig {
    /// Whether its turns are durable.
    pub is_kept: bool,
    /// The options of its turns. Their server tools are used without asking.
    pub options: TurnOptions,
}

impl AssistantConfig {
    /// An assistant of this name whose turns have these options and are kept.
    #[must_use]
    pub fn new(name: &str, options: TurnOptions) -> Self {
        Self {
            is_kept: true,
            options: TurnOptions {
                assistant: Some(name.into()),
                ..options
            },
        }
    }
}

/// The limits of clients.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct GatewayLimits {
    /// The maximum size of a body, in bytes.
    pub body: usize,
    /// The time limit of receiving a body.
    pub body_time: Duration,
    /// The maximum number of open connections; more wait.
    pub connections: usize,
    /// How long the shutdown waits for work in flight.
    pub drain: Duration,
    /// The time limit of receiving a request head, and of an idle connection between requests.
    pub header_time: Duration,
    /// The maximum number of headers of a request.
    pub headers: usize,
    /// The maximum number of concurrent requests; more are refused with a time to retry.
    pub streams: usize,
    /// The maximum number of client tools of a request.
    pub tools: usize,
    /// The time limit of a reply without streaming.
    pub whole_reply: Duration,
    /// How long a client may not read an available response.
    pub write_time: Duration,
}

impl Default for GatewayLimits {
    fn default() -> Self {
        Self {
            body: 32 << 20,
            body_time: Duration::from_secs(60),
            connections: 4096,
            drain: Duration::from_secs(25),
            header_time: Duration::from_secs(30),
            headers: 100,
            streams: 2048,
            tools: 1024,
            // As long as the timeout of the vendors' own clients (`openai` and `anthropic` for Python, 2026-11).
            whole_reply: Duration::from_secs(600),
            write_time: Duration::from_secs(60),
        }
    }
}

/// A provider, as clients see it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ProviderSummary {
    /// Whether it is at its vendor's own address, where only models of this vendor are.
    pub at_vendor: bool,
    /// Whether a file configures it.
    pub configured: bool,
    /// Its dialect.
    pub dialect: Arc<str>,
    /// The state of its key.
    pub key: KeySummary,
    /// Its kind.
    pub kind: Arc<str>,
}

/// The state of a provider's key, as clients see it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum KeySummary {
    /// It is present.
    Found,
    /// It is required and missing.
    Missing,
    /// It is not required.
    NotNeeded,
}

/// The MCP servers, whose states change.
pub trait ServerDirectory: Send + Sync {
    /// The servers with their present states.
    fn servers(&self) -> Vec<ServerSummary>;

    /// Whether one of them is enabled.
    fn is_any_enabled(&self) -> bool {
        let mut servers = self.servers().into_iter();
        servers.any(|server| server.state != ServerSummaryState::Off)
    }

    /// The last lines that a server wrote to its log, the oldest first; `None` if there is no such server. The default
    /// knows none.
    fn log(&self, _id: &str) -> Option<Vec<String>> {
        None
    }
}

/// No servers.
impl ServerDirectory for () {
    fn servers(&self) -> Vec<ServerSummary> {
        Vec::new()
    }
}

/// An MCP server, as clients see it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ServerSummary {
    /// Its description, from the configuration.
    pub description: Option<Arc<str>>,
    /// The picture that it has of itself, as a `data:` URL, if it runs and is trusted.
    pub icon: Option<Arc<str>>,
    /// Its id.
    pub id: Arc<str>,
    /// Its name, from the configuration.
    pub name: Option<Arc<str>>,
    /// Its state.
    pub state: ServerSummaryState,
    /// Whether its safety hints are trusted.
    pub trusted: bool,
}

/// The state of an MCP server, as clients see it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ServerSummaryState {
    /// It cannot be used, for this reason, which only admins see.
    Failed(String),
    /// It is disabled.
    Off,
    /// It runs, and speaks this revision of the protocol.
    Ready(String),
    /// It starts.
    Starting,
    /// It was stopped.
    Stopped,
}

/// The name of the assistant of requests that name no model.
pub const DEFAULT_ASSISTANT: &str = "jackfield";
