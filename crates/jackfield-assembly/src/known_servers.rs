//! Well-known MCP servers, to add by name.

use serde_json::{Value, json};

/// A well-known server (github.com/modelcontextprotocol/servers, read 2026-11-24).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct KnownServer {
    /// What it does.
    pub about: &'static str,
    arguments: &'static [&'static str],
    /// Its name.
    pub name: &'static str,
    /// The program that runs it.
    pub program: &'static str,
    /// What has the program.
    pub program_from: &'static str,
    /// Which arguments a person gives.
    pub takes: KnownArguments,
}

/// The arguments of a well-known server.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum KnownArguments {
    /// Folders, by default the working directory.
    Folders,
    /// Options of its own.
    Options,
    /// One repository; by default, the model names it in each call.
    Repository,
}

impl KnownServer {
    /// The entry of a file of servers, with these arguments.
    #[must_use]
    pub fn entry(&self, arguments: &[String]) -> Value {
        let own = self.arguments.iter().map(ToString::to_string);
        let flag = match self.takes {
            KnownArguments::Repository if !arguments.is_empty() => Some("--repository".to_owned()),
            KnownArguments::Folders | KnownArguments::Options | KnownArguments::Repository => None,
        };
        let all: Vec<String> = own.chain(flag).chain(arguments.iter().cloned()).collect();
        json!({ "command": self.program, "args": all })
    }
}

/// The well-known servers.
pub const KNOWN_SERVERS: &[KnownServer] = &[
    KnownServer {
        about: "reads a web page",
        arguments: &["mcp-server-fetch"],
        name: "fetch",
        program: "uvx",
        program_from: UV,
        takes: KnownArguments::Options,
    },
    KnownServer {
        about: "reads, writes and searches files in folders",
        arguments: &["-y", "@modelcontextprotocol/server-filesystem"],
        name: "filesystem",
        program: "npx",
        program_from: NODE,
        takes: KnownArguments::Folders,
    },
    KnownServer {
        about: "reads and changes a Git repository",
        arguments: &["mcp-server-git"],
        name: "git",
        program: "uvx",
        program_from: UV,
        takes: KnownArguments::Repository,
    },
    KnownServer {
        about: "remembers facts between sessions",
        arguments: &["-y", "@modelcontextprotocol/server-memory"],
        name: "memory",
        program: "npx",
        program_from: NODE,
        takes: KnownArguments::Options,
    },
    KnownServer {
        about: "tells the time and converts time zones",
        arguments: &["mcp-server-time"],
        name: "time",
        program: "uvx",
        program_from: UV,
        takes: KnownArguments::Options,
    },
];

const NODE: &str = "Node.js (https://nodejs.org)";
const UV: &str = "uv (https://docs.astral.sh/uv)";
