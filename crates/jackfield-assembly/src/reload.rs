//! Notices changes of the files that MCP servers are configured in.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use jackfield_domain::digest::Digest;
use jackfield_engine::chain;

use crate::bounded_file::read_at_most;
use crate::config::Config;
use crate::load::{Flags, MAX_SERVERS, load};
use crate::place::ConfigError;
use crate::registry::Registry;
use crate::servers::ServerSet;
use crate::surroundings::Surroundings;

/// The files that the servers of a program come from, with how they were found. They are compared once a second: that
/// works on every file system, and for a file that is replaced as well as for one that is written in place.
pub struct ServerFiles {
    flags: Flags,
    known: Vec<FileState>,
    /// The files that the configuration was read from.
    read: Vec<PathBuf>,
    registry: Registry,
    surroundings: Surroundings,
}

/// A file as it was seen.
#[derive(Clone, Debug, Eq, PartialEq)]
struct FileState {
    /// `None` if it cannot be read.
    content: Option<Digest>,
    /// When it was written, and its length.
    mark: Option<(SystemTime, u64)>,
    path: PathBuf,
}

impl ServerFiles {
    /// The files of a configuration that was just loaded from these surroundings and flags. Blocks on the disk.
    #[must_use]
    pub fn new(
        surroundings: Surroundings,
        flags: Flags,
        registry: Registry,
        config: &Config,
    ) -> Self {
        let mut files = Self {
            flags,
            known: Vec::new(),
            read: config.files.clone(),
            registry,
            surroundings,
        };
        files.known = files.look();
        files
    }

    /// Replaces the servers whenever their files have changed, and never returns. A configuration with an error
    /// replaces nothing, and the log says what is wrong.
    pub async fn follow(mut self, servers: ServerSet) {
        let mut is_changing = false;
        loop {
            tokio::time::sleep(INTERVAL).await;
            let looked = tokio::task::spawn_blocking(move || {
                let present = self.look();
                let is_same = content_of(&present).eq(content_of(&self.known));
                self.known = present;
                // A file may be half written: it is read once it has stayed the same for a while.
                let loaded = (is_same && is_changing).then(|| self.load());
                (self, is_same, loaded)
            });
            let Ok((files, is_same, loaded)) = looked.await else {
                tracing::error!("the files of MCP servers are no longer looked at");
                return;
            };
            self = files;
            is_changing = !is_same;
            match loaded {
                None => {}
                Some(Ok(config)) => apply(&servers, &config),
                Some(Err(error)) => {
                    let why = chain(&error);
                    tracing::warn!(
                        why,
                        "the MCP servers stay as they are: their configuration has an error"
                    );
                }
            }
        }
    }

    fn load(&mut self) -> Result<Config, ConfigError> {
        let config = load(&self.surroundings, &self.flags)?;
        ConfigError::check(self.registry.server_problems(&config))?;
        // It may name other files now.
        if self.read != config.files {
            self.read.clone_from(&config.files);
            self.known = self.look();
        }
        Ok(config)
    }

    /// The files that were read, and those that would be if they were there.
    fn paths(&self) -> BTreeSet<PathBuf> {
        let mut paths: BTreeSet<PathBuf> = self.read.iter().cloned().collect();
        if self.flags.config.is_none() && self.flags.mcp_config.is_none() {
            paths.extend(self.surroundings.user_servers());
            paths.extend(self.surroundings.project_servers());
        }
        paths
    }

    /// The present states of the files. One that was not written since is not read again.
    fn look(&self) -> Vec<FileState> {
        let states = self.paths().into_iter().map(|path| {
            let metadata = fs::metadata(&path).ok();
            let mark = metadata.and_then(|data| Some((data.modified().ok()?, data.len())));
            let known = self.known.iter().find(|file| file.path == path);
            // Two writes in quick succession may leave the same time.
            let is_settled = |at: SystemTime| at.elapsed().is_ok_and(|age| age > SETTLED);
            let known = known.filter(|known| {
                known.mark == mark && mark.is_none_or(|(written, _)| is_settled(written))
            });
            let content = match known {
                Some(known) => known.content,
                None => read_at_most(&path, MAX_SERVERS)
                    .ok()
                    .map(|bytes| Digest::of(&bytes)),
            };
            FileState {
                content,
                mark,
                path,
            }
        });
        states.collect()
    }
}

fn content_of(files: &[FileState]) -> impl Iterator<Item = (&PathBuf, Option<Digest>)> {
    files.iter().map(|file| (&file.path, file.content))
}

fn apply(servers: &ServerSet, config: &Config) {
    let replaced = servers.replace(config.servers.values());
    if replaced.is_empty() {
        return;
    }
    for remark in &config.remarks {
        let help = remark.help.as_deref().unwrap_or_default();
        tracing::warn!(help, "{remark}");
    }
    let names = |ids: &[_]| {
        let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
        ids.join(", ")
    };
    tracing::info!(
        added = names(&replaced.added),
        changed = names(&replaced.changed),
        removed = names(&replaced.removed),
        "the MCP servers were replaced, as their configuration has changed"
    );
}

impl fmt::Debug for ServerFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerFiles")
            .field("known", &self.known)
            .finish_non_exhaustive()
    }
}

/// How often the files are compared.
const INTERVAL: Duration = Duration::from_secs(1);
/// How long after a write the time of a file tells one write from the next, on every file system.
const SETTLED: Duration = Duration::from_secs(3);
