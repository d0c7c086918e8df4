//! MCP servers: what is configured of each, and the toolbox that comes of it.

mod comments;
pub(crate) mod expand;
mod fields;
mod foreign;
mod lines;
mod managed_server;
mod memory;
mod pins;
mod prompt;
mod read;
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

pub use self::pins::{AcceptError, ChangedTool};
pub use self::read::server_keys;
pub(crate) use self::read::{ServersFile, json, read};
pub(crate) use self::toolbox::ServerPaths;
pub use self::toolbox::{ServerStatus, ServerTest, ServerToolbox};
use crate::place::{Origin, ValueSource};

/// An MCP server as it is configured: the texts are as they are written, with `${NAME}` in them.
#[derive(Clone)]
#[non_exhaustive]
pub struct McpServerEntry {
    /// The program's arguments.
    pub arguments: Vec<Arc<str>>,
    /// The program: a name that is looked for in `PATH`, or a path.
    pub command: Arc<str>,
    /// For people: what it is for.
    pub description: Option<Arc<str>>,
    /// Whether it is used.
    pub enabled: bool,
    /// Variables that it gets beside the few that every server gets.
    pub environment: Vec<(Arc<str>, Arc<str>)>,
    /// The folder that it runs in, relative to the file that names it.
    pub folder: Option<Arc<str>>,
    /// Its id, the first part of its tools' names.
    pub id: ToolboxId,
    /// Whether it is offered with the tools that it had last, and started by the first call of one.
    pub lazy: bool,
    /// For people: its name in words.
    pub name: Option<Arc<str>>,
    /// Where it is configured.
    pub place: ValueSource,
    /// What its tools' names begin with in place of its id.
    pub prefix: Option<Arc<str>>,
    /// How long it may take to start, if that is not the default.
    pub start_timeout: Option<Duration>,
    /// How long a call may go without a word of its progress, if that is not the default.
    pub timeout: Option<Duration>,
    /// Which of its tools are offered.
    pub tools: Patterns,
    /// Whether what it says about the safety of its tools is believed.
    pub trusted: bool,
    /// What relative paths are relative to, and the user's home.
    pub(crate) base: (PathBuf, Option<PathBuf>),
    /// Whether it is this very program.
    pub(crate) itself: bool,
}

impl McpServerEntry {
    /// This very program as a server, started with these arguments; believed, as it is ours.
    ///
    /// # Errors
    ///
    /// If the path of this program cannot be found out.
    pub fn of_this_program<A: Into<Arc<str>>>(
        id: ToolboxId,
        arguments: impl IntoIterator<Item = A>,
    ) -> io::Result<Self> {
        // A guard is this program, too.
        let program = GuardProgram::this_program("")?.program;
        let command = program.into_os_string().into_string();
        let command = command.map_err(|_| io::Error::other("its path is not UTF-8"))?;
        Ok(Self {
            arguments: arguments.into_iter().map(Into::into).collect(),
            base: (PathBuf::new(), None),
            // What is read from a file may name variables.
            command: command.replace("${", "$${").into(),
            description: None,
            enabled: true,
            environment: Vec::new(),
            folder: None,
            id,
            itself: true,
            lazy: false,
            name: None,
            place: Origin::Default.into(),
            prefix: None,
            start_timeout: None,
            timeout: None,
            tools: Patterns::default(),
            trusted: true,
        })
    }
}

impl fmt::Debug for McpServerEntry {
    /// Never says what the variables hold: some are keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpServerEntry")
            .field("id", &self.id)
            .field("command", &self.command)
            .field("arguments", &self.arguments)
            .field("enabled", &self.enabled)
            .field("place", &self.place)
            .finish_non_exhaustive()
    }
}

/// Is the guard of an MCP server, if this process was started as one; a program whose registry is
/// [guarded](crate::Registry::guarded) calls this before anything else, and ends with what it gives.
#[must_use]
pub fn guard() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    let is_guard = arguments.next().as_deref() == Some(OsStr::new(GUARD));
    is_guard.then(|| jackfield_tools_mcp::guard::main(arguments))
}

/// The first argument of a guard: nothing that a person would type.
const GUARD: &str = "__mcp-guard";
