//! The surroundings of a process: environment, working directory and the user's folders.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use etcetera::BaseStrategy as _;

use crate::bounded_file::read_at_most;
use crate::place::{ConfigProblem, Origin};

/// The surroundings of a process, as a value, so that tests can construct their own.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// The user's cache folder, if there is one.
    pub cache_directory: Option<PathBuf>,
    /// The user's configuration folder, if there is a user.
    pub config_directory: Option<PathBuf>,
    /// The user's data folder, if there is one.
    pub data_directory: Option<PathBuf>,
    /// The working directory.
    pub directory: PathBuf,
    /// The environment variables.
    pub environment: Environment,
    /// The user's home, if there is one.
    pub home: Option<PathBuf>,
    /// The user's state folder, for what is durable but no configuration, if there is one.
    pub state_directory: Option<PathBuf>,
}

impl Surroundings {
    /// Those of this process.
    ///
    /// # Errors
    ///
    /// The working directory does not exist any more, or is not accessible.
    pub fn of_process() -> io::Result<Self> {
        let base = etcetera::choose_base_strategy().ok();
        Ok(Self {
            cache_directory: base.as_ref().map(etcetera::BaseStrategy::cache_dir),
            config_directory: base.as_ref().map(etcetera::BaseStrategy::config_dir),
            data_directory: base.as_ref().map(etcetera::BaseStrategy::data_dir),
            directory: std::env::current_dir()?,
            environment: Environment::of_process(),
            home: base.as_ref().map(|base| base.home_dir().to_owned()),
            // Systems without a state folder use the data folder.
            state_directory: base.map(|base| base.state_dir().unwrap_or_else(|| base.data_dir())),
        })
    }

    /// The path of the user's own configuration file, whether or not it exists.
    #[must_use]
    pub fn user_file(&self) -> Option<PathBuf> {
        self.user_path(FILE_NAME)
    }

    /// The path of the user's own file of MCP servers, whether or not it exists.
    #[must_use]
    pub fn user_servers(&self) -> Option<PathBuf> {
        self.user_path(SERVERS_NAME)
    }

    /// The path of the history of chat messages, whether or not it exists.
    #[must_use]
    pub fn history_file(&self) -> Option<PathBuf> {
        let folder = self.state_directory.as_ref()?;
        Some(folder.join("jackfield").join("history"))
    }

    fn user_path(&self, name: &str) -> Option<PathBuf> {
        let folder = self.config_directory.as_ref()?;
        Some(folder.join("jackfield").join(name))
    }

    /// The nearest configuration file of the project: in the working directory or above it, but not above the
    /// root of a repository, and not at or above the user's home.
    #[must_use]
    pub fn project_file(&self) -> Option<PathBuf> {
        self.find_upwards(FILE_NAME)
    }

    /// The nearest file of MCP servers, by the same rule.
    #[must_use]
    pub fn project_servers(&self) -> Option<PathBuf> {
        self.find_upwards(SERVERS_NAME)
    }

    fn find_upwards(&self, name: &str) -> Option<PathBuf> {
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

    /// Resolves a path: `~` is the user's home, and relative paths are relative to `base`.
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

    /// The display form of a path: relative to the working directory where possible.
    #[must_use]
    pub fn display_path<'a>(&self, path: &'a Path) -> &'a Path {
        path.strip_prefix(&self.directory).unwrap_or(path)
    }
}

/// Reads a whole small file.
///
/// # Errors
///
/// It cannot be read, or is too large.
pub(crate) fn read_small(path: &Path) -> io::Result<Vec<u8>> {
    read_at_most(path, LIMIT)
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
            .get(name)
            .transpose()
            .map_err(problem)?
            .filter(|value| !value.is_empty()))
    }

    /// The value of a variable with a configured name; the error is a value that is not UTF-8.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Result<String, OsString>> {
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
    /// Omits the values of variables: some are keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Environment(..)")
    }
}

/// The maximum size of a configuration file or key file, in bytes.
const LIMIT: u64 = 1 << 20;

/// The name of configuration files.
const FILE_NAME: &str = "jackfield.toml";

/// The name of files of MCP servers.
const SERVERS_NAME: &str = "mcp-servers.json";
