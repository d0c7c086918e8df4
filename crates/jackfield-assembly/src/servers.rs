//! MCP servers: their configuration, and their toolboxes.

mod comments;
mod fields;
mod foreign;
mod inspection;
mod lines;
mod managed_server;
mod memory;
mod oauth;
mod pins;
pub(crate) mod private_file;
mod prompt;
mod read;
mod set;
mod sign_in;
mod sign_in_file;
mod toolbox;

use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::ids::ToolboxId;
use jackfield_tools_mcp::{GuardProgram, Patterns};

pub use self::inspection::ServerInspection;
pub(crate) use self::managed_server::BrokenServer;
pub use self::oauth::OAuthEntry;
pub use self::pins::{AcceptError, ChangedTool};
pub(crate) use self::read::id_of_name;
pub(crate) use self::read::{ServersFile, json, read};
pub use self::read::{server_id, server_keys};
pub use self::set::{ReplacedServers, ServerSet};
pub use self::sign_in::{PendingSignIn, ServerSignIn};
pub(crate) use self::toolbox::CommonSettings;
pub use self::toolbox::{ServerStatus, ServerTest, ServerToolbox};
use crate::place::{Origin, ValueSource};

/// The configuration of an MCP server. Texts are as written, with `${NAME}` in them.
#[derive(Clone)]
#[non_exhaustive]
pub struct McpServerEntry {
    /// The program's arguments.
    pub arguments: Vec<Arc<str>>,
    /// The program: a name to look up in `PATH`, or a path. Empty for a server with an address.
    pub command: Arc<str>,
    /// Its purpose, for people.
    pub description: Option<Arc<str>>,
    /// Whether it is enabled.
    pub enabled: bool,
    /// Variables beside the few that every server gets.
    pub environment: Vec<(Arc<str>, Arc<str>)>,
    /// Its working directory, relative to the file that names it.
    pub folder: Option<Arc<str>>,
    /// The headers of every request, for a server with an address.
    pub headers: Vec<(Arc<str>, Arc<str>)>,
    /// Its id, the first part of its tools' names.
    pub id: ToolboxId,
    /// Whether it is offered with its cached tools, and started by the first call of one.
    pub lazy: bool,
    /// Its display name.
    pub name: Option<Arc<str>>,
    /// Of whom it is, and since which change, if a user or a team has it for itself.
    pub(crate) owner: Option<Arc<str>>,
    /// Where it is configured.
    pub place: ValueSource,
    /// How a person signs in there, as far as the server does not say it.
    pub oauth: OAuthEntry,
    /// The prefix of its tools' names, instead of its id.
    pub prefix: Option<Arc<str>>,
    /// Its roots, the folders that it should work in: relative to the file that names it, below `~`, or URIs.
    pub roots: Vec<Arc<str>>,
    /// The start timeout, if it is not the default.
    pub start_timeout: Option<Duration>,
    /// How long a call may go without progress, if that is not the default.
    pub timeout: Option<Duration>,
    /// The patterns of offered tools.
    pub tools: Patterns,
    /// Whether its safety hints are trusted.
    pub trusted: bool,
    /// Its address, for a server over Streamable HTTP.
    pub url: Option<Arc<str>>,
    /// The base of relative paths, and the user's home.
    pub(crate) base: (PathBuf, Option<PathBuf>),
    /// Whether it is this same program.
    pub(crate) itself: bool,
}

impl McpServerEntry {
    /// This same program as a server, started with these arguments. Its hints are trusted.
    ///
    /// # Errors
    ///
    /// The path of this program cannot be determined.
    pub fn of_this_program<A: Into<Arc<str>>>(
        id: ToolboxId,
        arguments: impl IntoIterator<Item = A>,
    ) -> io::Result<Self> {
        // The guard is this program, too.
        let program = GuardProgram::this_program("")?.program;
        let command = program.into_os_string().into_string();
        let command = command.map_err(|_| io::Error::other("its path is not UTF-8"))?;
        Ok(Self {
            arguments: arguments.into_iter().map(Into::into).collect(),
            command: literal(&command),
            itself: true,
            trusted: true,
            ..Self::empty(id)
        })
    }

    /// A server of this id that has nothing else yet.
    pub(crate) fn empty(id: ToolboxId) -> Self {
        Self {
            arguments: Vec::new(),
            base: (PathBuf::new(), None),
            command: "".into(),
            description: None,
            enabled: true,
            environment: Vec::new(),
            folder: None,
            headers: Vec::new(),
            id,
            itself: false,
            lazy: false,
            name: None,
            oauth: OAuthEntry::default(),
            owner: None,
            place: Origin::Default.into(),
            prefix: None,
            roots: Vec::new(),
            start_timeout: None,
            timeout: None,
            tools: Patterns::default(),
            trusted: false,
            url: None,
        }
    }
}

/// A text in which nothing is filled in, as a configuration has to write it: texts of entries may refer to variables.
pub(crate) fn literal(text: &str) -> Arc<str> {
    text.replace("${", "$${").into()
}

impl McpServerEntry {
    /// Whether another configuration makes the same server with the same tools: only where it is written, its name,
    /// its description and its tools' prefix may differ.
    pub(crate) fn runs_like(&self, other: &Self) -> bool {
        let Self {
            arguments,
            base,
            command,
            description: _,
            enabled,
            environment,
            folder,
            headers,
            id,
            itself,
            lazy,
            name: _,
            oauth,
            owner,
            place: _,
            prefix: _,
            roots,
            start_timeout,
            timeout,
            tools,
            trusted,
            url,
        } = self;
        (arguments, base, command, enabled, environment, folder)
            == (
                &other.arguments,
                &other.base,
                &other.command,
                &other.enabled,
                &other.environment,
                &other.folder,
            )
            && (headers, id, itself, lazy, oauth)
                == (
                    &other.headers,
                    &other.id,
                    &other.itself,
                    &other.lazy,
                    &other.oauth,
                )
            && (owner, roots, start_timeout, timeout, tools, trusted, url)
                == (
                    &other.owner,
                    &other.roots,
                    &other.start_timeout,
                    &other.timeout,
                    &other.tools,
                    &other.trusted,
                    &other.url,
                )
    }
}

impl fmt::Debug for McpServerEntry {
    /// Omits the values of variables and headers: some are keys. The address is redacted.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpServerEntry")
            .field("id", &self.id)
            .field("command", &self.command)
            .field("arguments", &self.arguments)
            .field("url", &self.shown_url())
            .field("enabled", &self.enabled)
            .field("place", &self.place)
            .finish_non_exhaustive()
    }
}

/// Keeps the keys of this process to itself, and runs the guard of a child process if it was started as one. A program
/// with a [guarded](crate::Registry::guarded) registry calls this before anything else, and exits with the returned
/// code.
#[must_use]
pub fn guard() -> Option<ExitCode> {
    jackfield_tools_mcp::keep_to_itself();
    let mut arguments = std::env::args_os().skip(1);
    let is_guard = arguments.next().as_deref() == Some(OsStr::new(GUARD));
    is_guard.then(|| jackfield_tools_mcp::guard::main(arguments))
}

/// The command that starts a guard.
pub(crate) fn guard_program() -> io::Result<GuardProgram> {
    GuardProgram::this_program(GUARD)
}

/// The first argument of a guard: unlikely to be typed by a person.
const GUARD: &str = "__mcp-guard";
