//! The gateway's configuration, `[serve]`.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::digest::Digest;
use jackfield_domain::tool::ToolOrigin;
use jackfield_engine::ServerTools;

use crate::endpoints::{self, TokenEndpoint};
use crate::factory::EndpointSettings;
use crate::key_source::KeySource;
use crate::oidc::OidcConfig;
use crate::otlp::OtlpConfig;
use crate::place::{ConfigProblem, ValueSource};
use crate::surroundings::{Environment, read_small};

/// The gateway's configuration.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct ServeConfig {
    /// Whether each request is logged.
    pub access_log: bool,
    /// How calls that need approval are handled.
    pub approvals: ApprovalsMode,
    /// The address to listen on.
    pub bind: SocketAddr,
    /// Where the address is configured; `None` for the default.
    pub bind_place: Option<ValueSource>,
    /// The effect of a client disconnect on a turn.
    pub disconnect: DisconnectSetting,
    /// The endpoints, beside those for messages, whose requests go to the provider of the model that they name.
    pub endpoints: Vec<Arc<str>>,
    /// Whether Chat Completions includes Jackfield's extension fields.
    pub extensions: bool,
    /// The keep-alive interval of streams.
    pub keep_alive: Duration,
    /// The limits of clients.
    pub limits: ServeLimits,
    /// The format of the log.
    pub log: LogFormat,
    /// Whether `/mcp` has a tool `approve`, which answers permission questions of other agents.
    pub approve: bool,
    /// The share of a budget, in percent, from which on its clients are warned; 0 is never.
    pub budget_warning: u32,
    /// Whether `/mcp` has a tool `ask`, which runs a whole turn.
    pub ask: bool,
    /// Whether bodies are logged, too.
    pub log_content: bool,
    /// Whether metrics are shown at `/metrics`.
    pub metrics: bool,
    /// Where people sign in to the page without a token; `None` if they cannot.
    pub oidc: Option<OidcConfig>,
    /// Whether requests are passed through to their provider where nothing speaks for a turn.
    pub passthrough: bool,
    /// The address of the gateway for browsers, without a slash at its end; `None` where only browsers of this machine
    /// reach it.
    pub public_url: Option<Arc<str>>,
    /// Who keeps the responses of the Responses API.
    pub responses: ResponsesSetting,
    /// The server tools that a request to a plain model uses without asking, out of those that it may use.
    pub offer: ServerTools,
    /// Whether clients see the calls of server tools, where their dialect supports it.
    pub show_tools: bool,
    /// Whether streaming clients see calls of client tools while the model writes them.
    pub stream_arguments: bool,
    /// The sets of tools for MCP clients, by name, and in each the tools by their names there.
    pub tool_sets: BTreeMap<Arc<str>, BTreeMap<Arc<str>, ToolSetEntry>>,
    /// The tokens, by name.
    pub tokens: BTreeMap<Arc<str>, TokenConfig>,
    /// The server tools that a request may use.
    pub tools: ServerTools,
    /// Where traces, metrics and the log are sent.
    pub otlp: OtlpConfig,
    /// The files with the certificate; `None` serves plain HTTP.
    pub tls: Option<TlsConfig>,
    /// Whether the provider is asked for a reply without streaming if the client wants it so and no one else can
    /// follow the turn.
    pub whole_replies: bool,
}

/// The files with the certificate of a gateway, in PEM form.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct TlsConfig {
    /// The chain of certificates, the gateway's own first.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// The limits of clients.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct ServeLimits {
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
    /// The maximum number of recovered turns that run concurrently, besides those of requests; more wait.
    pub recovered_turns: usize,
    /// The maximum number of concurrent requests; more are refused with a time to retry.
    pub streams: usize,
    /// The maximum number of client tools of a request.
    pub tools: usize,
    /// The time limit of a reply without streaming.
    pub whole_reply: Duration,
    /// How long a client may not read an available response.
    pub write_time: Duration,
}

/// How calls that need approval are handled.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum ApprovalsMode {
    /// They are denied, with a hint how to allow them.
    #[default]
    Deny,
    /// They wait for an approval from elsewhere.
    Wait,
}

jackfield_domain::named! { ApprovalsMode: Deny = "deny", Wait = "wait" }

/// The effect of a client disconnect on a turn.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum DisconnectSetting {
    /// The turn is cancelled.
    Cancel,
    /// The turn continues, and its answer can be fetched later.
    #[default]
    Finish,
}

jackfield_domain::named! { DisconnectSetting: Cancel = "cancel", Finish = "finish" }

/// Who keeps the responses of the Responses API, if the request does not say `store: false`.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum ResponsesSetting {
    /// The gateway: each request is a turn.
    #[default]
    Kept,
    /// The provider, if the request is passed through.
    Upstream,
}

jackfield_domain::named! { ResponsesSetting: Kept = "kept", Upstream = "upstream" }

/// The format of a log.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum LogFormat {
    /// One JSON object per line.
    Json,
    /// Text for people.
    #[default]
    Text,
}

jackfield_domain::named! { LogFormat: Json = "json", Text = "text" }

/// A tool of a set for MCP clients.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct ToolSetEntry {
    /// The arguments that every call has.
    pub arguments: serde_json::Map<String, serde_json::Value>,
    /// Its description; `None` keeps the tool's own.
    pub description: Option<Arc<str>>,
    /// The tool.
    pub origin: ToolOrigin,
}

/// A token of a client.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct TokenConfig {
    /// Whether it sees the sessions of all principals.
    pub admin: bool,
    /// The endpoints that it opens, each at one provider.
    pub endpoints: Vec<TokenEndpoint>,
    /// Where it is configured.
    pub place: ValueSource,
    /// Whether its requests are passed through; by default, as the gateway's setting says.
    pub passthrough: Option<bool>,
    /// The principal whose sessions it sees; by default, its own name.
    pub principal: Option<Arc<str>>,
    /// The source of its secret.
    pub source: Option<TokenSource>,
    /// The server tools that it may use; by default, those of the gateway.
    pub tools: Option<ServerTools>,
}

/// The source of a token's secret.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum TokenSource {
    /// A file that contains only the secret.
    File(PathBuf),
    /// No source: this is the SHA-256 digest of the secret.
    Sha256(Digest),
    /// An environment variable.
    Variable(Arc<str>),
}

impl ServeConfig {
    /// Whether a token or a person may administer the gateway, whatever keys its journal has.
    #[must_use]
    pub fn names_admins(&self) -> bool {
        let by_token = self.tokens.values().any(|token| token.admin);
        let people = self.oidc.as_ref();
        by_token || people.is_some_and(|oidc| !oidc.admins.is_empty())
    }
}

impl Default for ServeConfig {
    fn default() -> Self {
        Self {
            access_log: true,
            approvals: ApprovalsMode::default(),
            bind: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), PORT),
            bind_place: None,
            budget_warning: 80,
            disconnect: DisconnectSetting::default(),
            endpoints: endpoints::DEFAULT.map(Arc::from).to_vec(),
            extensions: false,
            keep_alive: Duration::from_secs(10),
            limits: ServeLimits::default(),
            log: LogFormat::default(),
            approve: false,
            ask: false,
            log_content: false,
            metrics: false,
            oidc: None,
            passthrough: true,
            public_url: None,
            responses: ResponsesSetting::default(),
            offer: ServerTools::None,
            show_tools: true,
            stream_arguments: true,
            tool_sets: BTreeMap::new(),
            tokens: BTreeMap::new(),
            tools: ServerTools::default(),
            otlp: OtlpConfig::default(),
            tls: None,
            whole_replies: true,
        }
    }
}

impl Default for ServeLimits {
    fn default() -> Self {
        Self {
            body: 32 << 20,
            body_time: Duration::from_secs(60),
            connections: 4096,
            drain: Duration::from_secs(25),
            header_time: Duration::from_secs(30),
            headers: 100,
            recovered_turns: 256,
            streams: 2048,
            tools: 1024,
            // As long as the timeout of the vendors' own clients (`openai` and `anthropic` for Python, 2026-11).
            whole_reply: Duration::from_secs(600),
            write_time: Duration::from_secs(60),
        }
    }
}

impl ServeConfig {
    /// The digest of each token, ordered by name, or a problem. A token that equals another one is a problem, as
    /// the principal of a request with it would be ambiguous.
    pub fn digests(
        &self,
        environment: &Environment,
    ) -> Vec<(&Arc<str>, Result<Digest, ConfigProblem>)> {
        let mut known: Vec<(&Arc<str>, Digest)> = Vec::new();
        let had = self.tokens.iter().map(|(name, token)| {
            let had = token.digest(environment).and_then(|digest| {
                if let Some((other, _)) = known.iter().find(|(_, known)| *known == digest) {
                    let message = format!("the token is that of `{other}`, too");
                    let help = "give each a token of its own, or leave one of them out";
                    return Err(ConfigProblem::new(token.place.clone(), message).with_help(help));
                }
                known.push((name, digest));
                Ok(digest)
            });
            (name, had)
        });
        had.collect()
    }

    /// Whether the configuration names clients: tokens, or people who sign in.
    #[must_use]
    pub fn has_clients(&self) -> bool {
        !self.tokens.is_empty() || self.oidc.is_some()
    }

    /// The endpoints of a provider that are open to clients.
    pub(crate) fn endpoints_of(&self, provider: &str) -> EndpointSettings {
        let named = self.token_endpoints();
        let named = named.filter(|endpoint| *endpoint.provider == *provider);
        EndpointSettings {
            by_model: self.endpoints.clone(),
            by_name: named.map(|endpoint| Arc::clone(&endpoint.path)).collect(),
        }
    }

    /// The endpoints that tokens open.
    pub(crate) fn token_endpoints(&self) -> impl Iterator<Item = &TokenEndpoint> {
        self.tokens.values().flat_map(|token| &token.endpoints)
    }

    /// Makes the paths of files absolute.
    pub(crate) fn resolve(&mut self, resolve: impl Fn(&str) -> PathBuf) {
        if let Some(TlsConfig { certificate, key }) = &mut self.tls {
            for path in [certificate, key] {
                if let Some(text) = path.to_str() {
                    *path = resolve(text);
                }
            }
        }
        let secret = self.oidc.as_mut().map(|oidc| &mut oidc.client_secret);
        if let Some(KeySource::File(path)) = secret
            && let Some(text) = path.to_str()
        {
            *path = resolve(text);
        }
        for token in self.tokens.values_mut() {
            if let Some(TokenSource::File(path)) = &mut token.source
                && let Some(text) = path.to_str()
            {
                *path = resolve(text);
            }
        }
    }
}

impl TlsConfig {
    /// The content of the certificate's file. Blocks on the disk.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or is too large.
    pub fn read_certificate(&self) -> io::Result<Vec<u8>> {
        read_small(&self.certificate)
    }

    /// The content of the key's file. Blocks on the disk.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or is too large.
    pub fn read_key(&self) -> io::Result<Vec<u8>> {
        read_small(&self.key)
    }
}

impl TokenConfig {
    /// The digest of its secret, which is not retained.
    ///
    /// # Errors
    ///
    /// The variable or the file does not exist, or its content is too short.
    fn digest(&self, environment: &Environment) -> Result<Digest, ConfigProblem> {
        let problem = |message: String| ConfigProblem::new(self.place.clone(), message);
        let secret = match &self.source {
            Some(TokenSource::Sha256(digest)) => return Ok(*digest),
            Some(TokenSource::Variable(name)) => match environment.get(name) {
                Some(Ok(value)) => value,
                Some(Err(_)) => return Err(problem(format!("{name} is not UTF-8"))),
                None => {
                    let help =
                        format!("set {name} where `jackfield serve` is started: it is the token");
                    return Err(problem(format!("{name} is not set")).with_help(help));
                }
            },
            Some(TokenSource::File(path)) => {
                let shown = path.display();
                let bytes = read_small(path)
                    .map_err(|error| problem(format!("`{shown}` cannot be read: {error}")))?;
                String::from_utf8(bytes).map_err(|_| problem(format!("`{shown}` is not UTF-8")))?
            }
            None => {
                let message = "it is said nowhere what the token is".to_owned();
                return Err(problem(message).with_help(SOURCES));
            }
        };
        let secret = secret.trim();
        if secret.len() < MIN_LENGTH {
            let message = format!("a token has at least {MIN_LENGTH} characters");
            return Err(problem(message).with_help("`openssl rand -hex 24` makes one"));
        }
        Ok(Digest::of(secret.as_bytes()))
    }
}

/// Help about the source of a token.
pub(crate) const SOURCES: &str =
    "name one of `env`, `file` and `sha256`: a variable, a file, or the token's SHA-256 digest";

/// The default port.
const PORT: u16 = 8350;

/// The minimum length of a token, in characters.
const MIN_LENGTH: usize = 16;
