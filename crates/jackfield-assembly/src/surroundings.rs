//! What a process is surrounded by: its environment, its directory, its user's home.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use etcetera::BaseStrategy as _;

use crate::bounded_file::read_at_most;
use crate::place::{ConfigProblem, Origin};

/// What a process is surrounded by. A value: whoever tests gives its own.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// Where what may be deleted is kept of the user, if there is one.
    pub cache_directory: Option<PathBuf>,
    /// Where the user's configuration files are, if there is a user.
    pub config_directory: Option<PathBuf>,
    /// Where what has to stay is kept of the user, if there is one.
    pub data_directory: Option<PathBuf>,
    /// The working directory.
    pub directory: PathBuf,
    /// The environment variables.
    pub environment: Environment,
    /// The user's home, if there is one.
    pub home: Option<PathBuf>,
    /// Where what should stay is kept of the user and is no configuration, if there is such a place.
    pub state_directory: Option<PathBuf>,
}

impl Surroundings {
    /// Those of this process.
    ///
    /// # Errors
    ///
    /// The working directory is gone, or not to be seen.
    pub fn of_process() -> io::Result<Self> {
        let base = etcetera::choose_base_strategy().ok();
        Ok(Self {
            cache_directory: base.as_ref().map(etcetera::BaseStrategy::cache_dir),
            config_directory: base.as_ref().map(etcetera::BaseStrategy::config_dir),
            data_directory: base.as_ref().map(etcetera::BaseStrategy::data_dir),
            directory: std::env::current_dir()?,
            environment: Environment::of_process(),
            home: base.as_ref().map(|base| base.home_dir().to_owned()),
            // Systems that have no such place keep it with the data.
            state_directory: base.map(|base| base.state_dir().unwrap_or_else(|| base.data_dir())),
        })
    }

    /// The user's own configuration file, whether or not it is there.
    #[must_use]
    pub fn user_file(&self) -> Option<PathBuf> {
        self.own(FILE_NAME)
    }

    /// The user's own file of MCP servers, whether or not it is there.
    #[must_use]
    pub fn user_servers(&self) -> Option<PathBuf> {
        self.own(SERVERS_NAME)
    }

    /// The file of what the user has said in conversations, whether or not it is there.
    #[must_use]
    pub fn history_file(&self) -> Option<PathBuf> {
        let folder = self.state_directory.as_ref()?;
        Some(folder.join("jackfield").join("history"))
    }

    fn own(&self, name: &str) -> Option<PathBuf> {
        let folder = self.config_directory.as_ref()?;
        Some(folder.join("jackfield").join(name))
    }

    /// The nearest configuration file of the project: in the working directory or above it, not
    /// above the root of a repository, and not at or above the user's home.
    #[must_use]
    pub fn project_file(&self) -> Option<PathBuf> {
        self.found(FILE_NAME)
    }

    /// The nearest file of MCP servers, by the same rule.
    #[must_use]
    pub fn project_servers(&self) -> Option<PathBuf> {
        self.found(SERVERS_NAME)
    }

    fn found(&self, name: &str) -> Option<PathBuf> {
        for folder in self.directory.ancestors() {
            if self.home.as_deref() == Some(folder) {
                return None;
            }
            let file = folder.join(name);
            if file.is_file() {
                return Some(file);
            }
            if folder.join(".git").exists() {
                return None;
            }
        }
        None
    }

    /// The path that is meant: `~` is the user's home, and what is relative is so to `base`.
    #[must_use]
    pub fn resolve(&self, path: &str, base: &Path) -> PathBuf {
        let below_home = if path == "~" {
            Some("")
        } else {
            path.strip_prefix("~/")
        };
        match (below_home, &self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            (Some(_) | None, _) => base.join(path),
        }
    }

    /// The path as people are shown it: without the working directory before it.
    #[must_use]
    pub fn shown<'a>(&self, path: &'a Path) -> &'a Path {
        path.strip_prefix(&self.directory).unwrap_or(path)
    }
}

/// Reads a small file whole.
///
/// # Errors
///
/// It cannot be read, or it is no small file.
pub(crate) fn read_small(path: &Path) -> io::Result<Vec<u8>> {
    read_at_most(path, MOST)
}

/// Environment variables.
#[derive(Clone)]
pub struct Environment(Variables);

#[derive(Clone)]
enum Variables {
    Given(Arc<BTreeMap<String, OsString>>),
    OfProcess,
}

impl Environment {
    /// Those of this process.
    #[must_use]
    pub fn of_process() -> Self {
        Self(Variables::OfProcess)
    }

    /// The value of a variable; `None` if it is not set or empty.
    ///
    /// # Errors
    ///
    /// It is not UTF-8.
    pub fn variable(&self, name: &'static str) -> Result<Option<String>, ConfigProblem> {
        let problem = |_| ConfigProblem::new(Origin::Variable(name).into(), "this is not UTF-8");
        Ok(self
            .named(name)
            .transpose()
            .map_err(problem)?
            .filter(|value| !value.is_empty()))
    }

    /// The value of a variable whose name is configured, or what it is instead of UTF-8.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<Result<String, OsString>> {
        let value = match &self.0 {
            Variables::Given(variables) => variables.get(name).cloned(),
            Variables::OfProcess => std::env::var_os(name),
        };
        value.map(OsString::into_string)
    }
}

impl<N: Into<String>, V: Into<OsString>> FromIterator<(N, V)> for Environment {
    fn from_iter<T: IntoIterator<Item = (N, V)>>(variables: T) -> Self {
        let named = variables
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()));
        Self(Variables::Given(Arc::new(named.collect())))
    }
}

impl fmt::Debug for Environment {
    /// Never says what the variables hold: some are keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Environment(..)")
    }
}

/// The most bytes of a configuration file or of a key's file.
const MOST: u64 = 1 << 20;

/// How configuration files are called.
const FILE_NAME: &str = "jackfield.toml";

/// How files of MCP servers are called.
const SERVERS_NAME: &str = "mcp-servers.json";
