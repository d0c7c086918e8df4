//! Finds files of MCP servers that other programs keep, to refer to them without copying.

use std::path::PathBuf;

use serde_json::Value;

use crate::bounded_file::read_at_most;
use crate::load::MAX_SERVERS;
use crate::surroundings::Surroundings;

/// A file of MCP servers that was found.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct FoundServers {
    /// Whether it is in the project, which may be a stranger's.
    pub of_project: bool,
    /// Its owner, or its description.
    pub owner: &'static str,
    /// Its path.
    pub path: PathBuf,
    /// The ids of its servers; nothing else is retained.
    pub servers: Vec<String>,
    /// Why it cannot be used as `mcp.config` as it is, in one sentence.
    pub unfit: Option<String>,
}

/// The files of MCP servers in this project, and those of other programs at well-known places below the home
/// (their documentation, 2026-11). Files without servers are left out.
#[must_use]
pub fn found_servers(surroundings: &Surroundings) -> Vec<FoundServers> {
    let home = surroundings.home.as_ref();
    let of_home = HOME
        .iter()
        .filter_map(|(of, path)| Some((*of, home?.join(path), false)));
    let config = surroundings.config_directory.as_ref();
    let of_config = CONFIG
        .iter()
        .filter_map(|(of, path)| Some((*of, config?.join(path), false)));
    let of_project = PROJECT
        .iter()
        .map(|(of, path)| (*of, surroundings.directory.join(path), true));
    let all = of_project.chain(of_home).chain(of_config);
    all.filter_map(|(of, path, of_project)| {
        let found = read_servers(surroundings, of, path)?;
        Some(FoundServers {
            of_project,
            ..found
        })
    })
    .collect()
}

fn read_servers(
    surroundings: &Surroundings,
    owner: &'static str,
    path: PathBuf,
) -> Option<FoundServers> {
    // A missing, unreadable or huge file is skipped.
    let bytes = read_at_most(&path, MAX_SERVERS).ok()?;
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
        .take(LIMIT)
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
        of_project: false,
        owner,
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
/// Below the configuration folder.
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
/// The maximum number of servers listed.
const LIMIT: usize = 50;
