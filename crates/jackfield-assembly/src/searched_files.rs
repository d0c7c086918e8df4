//! Where files are looked for, and what is there.

use std::path::{Path, PathBuf};

use crate::load::{Flags, load};
use crate::surroundings::Surroundings;

/// A file that was looked for.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct SearchedFile {
    /// Where it is, or would be.
    pub path: PathBuf,
    /// What came of it.
    pub state: FileState,
    /// What it is, in a few words.
    pub what: &'static str,
}

/// What is at a place where a file was looked for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FileState {
    /// Nothing.
    Missing,
    /// The file, and it is read.
    Read,
    /// The file, and it is not read: another one was named, it is not trusted, or something is wrong.
    Unused,
}

/// Where configuration is looked for, from the weakest place to the strongest.
///
/// Tells also where something is wrong with a file: what is there is `Unused` then.
#[must_use]
pub fn looked_for(surroundings: &Surroundings, flags: &Flags) -> Vec<SearchedFile> {
    let read = load(surroundings, flags).map(|config| config.files);
    let read = read.unwrap_or_default();
    let mut all: Vec<SearchedFile> = Vec::new();
    let mut add = |path: Option<PathBuf>, what: &'static str| {
        let Some(path) = path else { return };
        let state = if is_among(&read, &path) {
            FileState::Read
        } else if path.exists() {
            FileState::Unused
        } else {
            FileState::Missing
        };
        if !all.iter().any(|known| known.path == path) {
            all.push(SearchedFile { path, state, what });
        }
    };
    let below = |path: PathBuf| surroundings.directory.join(path);
    let variable = surroundings.environment.variable("JACKFIELD_CONFIG");
    let variable = variable.ok().flatten().map(PathBuf::from);
    let in_project = |name: &str| Some(surroundings.directory.join(name));
    add(surroundings.user_file(), "your own configuration");
    add(surroundings.user_servers(), "your own MCP servers");
    add(
        surroundings
            .project_file()
            .or_else(|| in_project("jackfield.toml")),
        "the project's configuration",
    );
    add(
        surroundings
            .project_servers()
            .or_else(|| in_project("mcp-servers.json")),
        "the project's MCP servers",
    );
    match &flags.config {
        Some(path) => add(Some(below(path.clone())), "named by --config"),
        None => add(variable.map(below), "named by JACKFIELD_CONFIG"),
    }
    let servers = flags.mcp_config.clone().map(below);
    add(servers, "named by --mcp-config");
    for path in &read {
        add(Some(path.clone()), "named by mcp.config");
    }
    all
}

fn is_among(read: &[PathBuf], path: &Path) -> bool {
    read.iter().any(|read| read == path)
}
