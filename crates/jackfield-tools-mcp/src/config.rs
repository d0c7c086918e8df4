//! The configuration of one server and the settings for all servers: plain values, no files.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use jackfield_domain::ids::ToolboxId;
use jackfield_guard::GuardProgram;

use crate::patterns::Patterns;
use crate::roots::Root;

/// How a server is started, and which of its tools may be used.
#[derive(Clone, Eq, PartialEq)]
pub struct ServerConfig {
    pub arguments: Vec<String>,
    /// How long a call may go without progress.
    pub call_limit: Duration,
    /// The program: a name that is looked up in `PATH`, or a path.
    pub command: String,
    /// Environment variables in addition to the few that every server gets.
    pub environment: Vec<(String, String)>,
    /// The working directory of the process; by default that of this process.
    pub folder: Option<PathBuf>,
    /// The endpoint of a server that is reached over HTTP. No process is started for it then: the command, its
    /// arguments, its variables and its working directory do not count.
    pub http: Option<HttpEndpoint>,
    /// The toolbox id, which is the first part of its tools' names.
    pub id: ToolboxId,
    /// How long a call may take in all, regardless of progress.
    pub longest_call: Duration,
    /// The folders that the server should work in. Without any, we do not offer it roots.
    pub roots: Vec<Root>,
    /// The patterns of the tools that are offered.
    pub tools: Patterns,
    /// Whether the server's annotations about the safety of its tools are trusted.
    pub trusted: bool,
}

impl ServerConfig {
    /// A server with this command and defaults otherwise: 30 s for a call, up to five minutes with progress; all
    /// tools; not trusted.
    #[must_use]
    pub fn new(id: ToolboxId, command: impl Into<String>) -> Self {
        Self {
            arguments: Vec::new(),
            call_limit: Duration::from_secs(30),
            command: command.into(),
            environment: Vec::new(),
            folder: None,
            http: None,
            id,
            longest_call: Duration::from_secs(300),
            roots: Vec::new(),
            tools: Patterns::default(),
            trusted: false,
        }
    }

    /// A server at this endpoint, with the same defaults.
    #[must_use]
    pub fn at(id: ToolboxId, endpoint: HttpEndpoint) -> Self {
        Self {
            http: Some(endpoint),
            ..Self::new(id, String::new())
        }
    }

    /// The values of variables whose names suggest a secret, if they are long enough to be told from ordinary
    /// words.
    pub(crate) fn secrets(&self) -> Vec<String> {
        let is_key = |name: &str| {
            let name = name.to_ascii_uppercase();
            SECRET.iter().any(|part| name.contains(part))
        };
        let variables = self.environment.iter();
        let keys = variables.filter(|(name, value)| is_key(name) && value.len() >= MIN_SECRET);
        let keys = keys.map(|(_, value)| value.clone());
        // Any header may be a key, also the part of it after its scheme.
        let headers = self.http.iter().flat_map(|endpoint| &endpoint.headers);
        let headers = headers.flat_map(|(_, value)| [Some(&**value), value.split(' ').nth(1)]);
        let headers = headers.flatten().filter(|value| value.len() >= MIN_SECRET);
        keys.chain(headers.map(str::to_owned)).collect()
    }

    /// The longest total time of a call.
    pub(crate) fn max_duration(&self) -> Duration {
        self.longest_call.max(self.call_limit)
    }
}

/// Omits the values of environment variables, as some are keys.
impl fmt::Debug for ServerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self
            .environment
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        f.debug_struct("ServerConfig")
            .field("id", &self.id)
            .field("command", &self.command)
            .field("arguments", &self.arguments)
            .field("environment", &names)
            .field("folder", &self.folder)
            .field("http", &self.http)
            .field("call_limit", &self.call_limit)
            .field("longest_call", &self.longest_call)
            .field("roots", &self.roots)
            .field("tools", &self.tools)
            .field("trusted", &self.trusted)
            .finish()
    }
}

/// The endpoint of a server over Streamable HTTP.
#[derive(Clone, Eq, PartialEq)]
pub struct HttpEndpoint {
    /// Headers of every request. Their values are not shown or logged.
    pub headers: Vec<(String, String)>,
    pub url: String,
}

/// Omits the values of headers and the URL's query: some are keys.
impl fmt::Debug for HttpEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        let url = self.url.split('?').next().unwrap_or_default();
        f.debug_struct("HttpEndpoint")
            .field("headers", &names)
            .field("url", &url)
            .finish()
    }
}

/// Substrings of the names of variables that hold secrets.
const SECRET: &[&str] = &["AUTH", "CREDENTIAL", "KEY", "PASS", "SECRET", "TOKEN"];
/// Shorter values are not treated as secrets, in bytes.
const MIN_SECRET: usize = 6;

/// Settings that apply to every server.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ClientSettings {
    /// Whether servers may ask a person in the middle of a call, by a form or a page to open. Switch it off where no front
    /// end shows questions: then they are declined at once.
    pub asks: bool,
    /// The pause before the first restart of a failed server; doubled after every further failure.
    pub backoff: Duration,
    /// How long a server has to exit after its input was closed, and again after `SIGTERM`, before it is killed.
    pub grace: Duration,
    /// The guard process, which outlives us for a moment. Without one, a server that ignores the end of its input
    /// outlives us when we are killed.
    pub guard: Option<GuardProgram>,
    /// How long a list of tools is used at least before it is asked for again, where the server announces no changes.
    pub list_lifetime: Duration,
    /// The time limit for a list of tools, over all its pages.
    pub list_limit: Duration,
    /// The most bytes of standard error that are kept per server.
    pub log_bytes: usize,
    /// The most lines of standard error that are kept per server.
    pub log_lines: usize,
    /// The longest pause before a failed server is restarted.
    pub longest_backoff: Duration,
    /// The longest message that is read whole, in bytes; longer tool results are cut to this length.
    pub max_message: usize,
    /// The most pages of a list of tools.
    pub most_pages: usize,
    /// The most tools that one server may offer; further ones are left out.
    pub most_tools: usize,
    /// How long a server has to answer the probe of the newer era before the handshake of the older era is sent. A
    /// later answer to the probe still counts.
    pub probe: Duration,
    /// Whether servers may ask for a message of the turn's model in the middle of a call. A person is asked each time.
    pub samples: bool,
    /// How long a server has from its start to the end of the handshake. Generous, because programs such as `npx`
    /// first download the server.
    pub start_limit: Duration,
    /// Whether callers that list or call tools get the reason why a server is down; the log has it in any case.
    pub expose_faults: bool,
    /// Our version, as sent to servers.
    pub version: String,
}

impl Default for ClientSettings {
    fn default() -> Self {
        Self {
            asks: true,
            backoff: Duration::from_millis(500),
            grace: Duration::from_millis(1500),
            guard: None,
            list_lifetime: Duration::from_secs(5),
            list_limit: Duration::from_secs(20),
            log_bytes: 256 << 10,
            log_lines: 1000,
            longest_backoff: Duration::from_secs(60),
            max_message: 16 << 20,
            most_pages: 1000,
            most_tools: 4096,
            probe: Duration::from_secs(1),
            samples: true,
            start_limit: Duration::from_secs(60),
            expose_faults: true,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}
