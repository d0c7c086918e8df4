//! What is known of a server before it runs, and what holds for all of them: values, no files.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use jackfield_domain::ids::ToolboxId;

use crate::patterns::Patterns;

/// A server: how it is started, and what may be used of it.
#[derive(Clone, Eq, PartialEq)]
pub struct ServerConfig {
    /// The program's arguments.
    pub arguments: Vec<String>,
    /// How long a call may go without a word of its progress.
    pub call_limit: Duration,
    /// The program: a name that is looked for in `PATH`, or a path.
    pub command: String,
    /// Variables that it gets beside the few that every server gets.
    pub environment: Vec<(String, String)>,
    /// The folder that it runs in; ours if there is none.
    pub folder: Option<PathBuf>,
    /// Its id, the first part of its tools' names.
    pub id: ToolboxId,
    /// How long a call may take in all, however it progresses.
    pub longest_call: Duration,
    /// Which of its tools are offered.
    pub tools: Patterns,
    /// Whether what it says about the safety of its tools is believed.
    pub trusted: bool,
}

impl ServerConfig {
    /// A server with this command, and everything else as usual: 30 s for a call, up to five minutes
    /// with progress; all tools; not trusted.
    #[must_use]
    pub fn new(id: ToolboxId, command: impl Into<String>) -> Self {
        Self {
            arguments: Vec::new(),
            call_limit: Duration::from_secs(30),
            command: command.into(),
            environment: Vec::new(),
            folder: None,
            id,
            longest_call: Duration::from_secs(300),
            tools: Patterns::default(),
            trusted: false,
        }
    }

    /// The values of its variables that are keys by their names, and long enough to be told from
    /// words.
    pub(crate) fn secrets(&self) -> Vec<String> {
        let is_key = |name: &str| {
            let name = name.to_ascii_uppercase();
            SECRET.iter().any(|part| name.contains(part))
        };
        let variables = self.environment.iter();
        let keys = variables.filter(|(name, value)| is_key(name) && value.len() >= SHORTEST_SECRET);
        keys.map(|(_, value)| value.clone()).collect()
    }

    /// The longest that a call may take in all.
    pub(crate) fn longest(&self) -> Duration {
        self.longest_call.max(self.call_limit)
    }
}

/// The values of the environment are not shown: keys are among them.
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
            .field("call_limit", &self.call_limit)
            .field("longest_call", &self.longest_call)
            .field("tools", &self.tools)
            .field("trusted", &self.trusted)
            .finish()
    }
}

/// What the names of keys have in them.
const SECRET: &[&str] = &["AUTH", "CREDENTIAL", "KEY", "PASS", "SECRET", "TOKEN"];
/// No key is shorter, in bytes.
const SHORTEST_SECRET: usize = 6;

/// What holds for every server.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ClientSettings {
    /// The first pause before a server that failed is started again; doubled after every failure.
    pub backoff: Duration,
    /// How long a server has to end by itself when its input has ended, and once more after
    /// `SIGTERM`, before it is killed.
    pub grace: Duration,
    /// What stands between us and the server and outlives us for a moment; without one, a server
    /// that ignores the end of its input outlives us when we are killed.
    pub guard: Option<GuardProgram>,
    /// How long a list of tools may take, all pages together.
    pub list_limit: Duration,
    /// The most bytes of standard error that are kept of a server.
    pub log_bytes: usize,
    /// The most lines of standard error that are kept of a server.
    pub log_lines: usize,
    /// The longest pause before a server that failed is started again.
    pub longest_backoff: Duration,
    /// The longest message that is read whole, in bytes; of longer outcomes only this much is read.
    pub max_message: usize,
    /// The most pages that a list of tools may have.
    pub most_pages: usize,
    /// The most tools that one server may offer; the rest is left out.
    pub most_tools: usize,
    /// How long a server has to answer in the new way before it is spoken to in the old one. An
    /// answer that comes later still counts.
    pub probe: Duration,
    /// How long a server has from its start to the end of the handshake. Generous, because programs
    /// such as `npx` first download the server.
    pub start_limit: Duration,
    /// Whether whoever lists or calls tools is told why a server is down; the log says it in any case.
    pub tells_why: bool,
    /// Our version, as servers are told it.
    pub version: String,
}

impl Default for ClientSettings {
    fn default() -> Self {
        Self {
            backoff: Duration::from_millis(500),
            grace: Duration::from_millis(1500),
            guard: None,
            list_limit: Duration::from_secs(20),
            log_bytes: 256 << 10,
            log_lines: 1000,
            longest_backoff: Duration::from_secs(60),
            max_message: 16 << 20,
            most_pages: 1000,
            most_tools: 4096,
            probe: Duration::from_secs(1),
            start_limit: Duration::from_secs(60),
            tells_why: true,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

/// How the guard is started: a program that calls [`guard::main`](crate::guard::main) with what
/// follows these arguments.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct GuardProgram {
    /// The arguments that make the program a guard.
    pub arguments: Vec<OsString>,
    /// The program.
    pub program: PathBuf,
}

impl GuardProgram {
    /// This very program, which has to be a guard when this is its first argument.
    ///
    /// # Errors
    ///
    /// If the path of this program cannot be found out.
    pub fn this_program(argument: impl Into<OsString>) -> std::io::Result<Self> {
        // By this name Linux finds the program even after its file was replaced by a newer one.
        let by_itself = PathBuf::from("/proc/self/exe");
        let program = if cfg!(target_os = "linux") && by_itself.exists() {
            by_itself
        } else {
            std::env::current_exe()?
        };
        Ok(Self {
            arguments: vec![argument.into()],
            program,
        })
    }
}
