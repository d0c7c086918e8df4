//! Files of MCP servers that other programs keep: named, never copied.

use std::path::PathBuf;

use serde_json::Value;

use crate::bounded_file::read_at_most;
use crate::load::MOST_SERVERS;
use crate::surroundings::Surroundings;

/// A file of MCP servers that was found.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct FoundServers {
    /// Whose it is, or what it is called.
    pub of: &'static str,
    /// Where it is.
    pub path: PathBuf,
    /// The ids of its servers; nothing else of it is kept.
    pub servers: Vec<String>,
    /// Why it cannot be named in `mcp.config` as it is, in a sentence.
    pub unfit: Option<String>,
}

/// The files of MCP servers in this project, and those that other programs keep at well-known places below
/// the home (their documentation, 2026-11). Those without servers are left out.
#[must_use]
pub fn found_servers(surroundings: &Surroundings) -> Vec<FoundServers> {
    let home = surroundings.home.as_ref();
    let of_home = HOME
        .iter()
        .filter_map(|(of, path)| Some((*of, home?.join(path))));
    let config = surroundings.config_directory.as_ref();
    let of_config = CONFIG
        .iter()
        .filter_map(|(of, path)| Some((*of, config?.join(path))));
    let of_project = PROJECT
        .iter()
        .map(|(of, path)| (*of, surroundings.directory.join(path)));
    let all = of_project.chain(of_home).chain(of_config);
    all.filter_map(|(of, path)| found(surroundings, of, path))
        .collect()
}

fn found(surroundings: &Surroundings, of: &'static str, path: PathBuf) -> Option<FoundServers> {
    // What is not there, not ours to read or enormous is none of our concern.
    let bytes = read_at_most(&path, MOST_SERVERS).ok()?;
    let (root, _) = crate::servers::json(&bytes).ok()?;
    let tables = ["mcpServers", "servers"].map(|name| root.get(name));
    let servers: Vec<String> = tables
        .into_iter()
        .flatten()
        .flat_map(|servers| match servers {
            Value::Object(table) => table.keys().cloned().collect(),
            Value::Array(list) => list
                .iter()
                .filter_map(|server| Some(server.get("id")?.as_str()?.to_owned()))
                .collect::<Vec<_>>(),
            Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) => Vec::new(),
        })
        .take(MOST)
        .collect();
    if servers.is_empty() {
        return None;
    }
    let read = crate::servers::read(surroundings, &path, &bytes);
    let unfit = read.problems.first().map(|problem| {
        let key = problem.place.key.as_deref().unwrap_or_default();
        format!("{key}: {}", problem.message)
    });
    Some(FoundServers {
        of,
        path,
        servers,
        unfit,
    })
}

/// Below the home.
const HOME: &[(&str, &str)] = &[
    ("Claude Code", ".claude.json"),
    ("Cursor", ".cursor/mcp.json"),
    ("Windsurf", ".codeium/windsurf/mcp_config.json"),
    (
        "Claude Desktop",
        "Library/Application Support/Claude/claude_desktop_config.json",
    ),
    ("VS Code", "Library/Application Support/Code/User/mcp.json"),
];
/// Below the folder of configurations.
const CONFIG: &[(&str, &str)] = &[
    ("Claude Desktop", "Claude/claude_desktop_config.json"),
    ("VS Code", "Code/User/mcp.json"),
];
/// In the project.
const PROJECT: &[(&str, &str)] = &[
    ("this project", "mcp-servers.json"),
    ("Claude Code, of this project", ".mcp.json"),
    ("Cursor, of this project", ".cursor/mcp.json"),
    ("VS Code, of this project", ".vscode/mcp.json"),
];
/// The most servers that are named.
const MOST: usize = 50;
