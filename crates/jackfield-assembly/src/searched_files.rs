//! The places where configuration files are looked for, and what was found there.

use std::path::{Path, PathBuf};

use crate::load::{Flags, load};
use crate::surroundings::Surroundings;

/// A file that was looked for.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct SearchedFile {
    /// Its path, whether or not it exists.
    pub path: PathBuf,
    /// The result.
    pub state: FileState,
    /// Its description, in a few words.
    pub what: &'static str,
}

/// The state of a searched file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FileState {
    /// It does not exist.
    Missing,
    /// It exists, and is read.
    Read,
    /// It exists, and is not read: another one was named, it is not trusted, or it has an error.
    Unused,
}

/// The places where configuration is looked for, from the lowest to the highest precedence.
///
/// If the configuration has an error, existing files are reported as `Unused`.
#[must_use]
pub fn searched_files(surroundings: &Surroundings, flags: &Flags) -> Vec<SearchedFile> {
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
