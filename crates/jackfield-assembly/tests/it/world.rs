//! A made-up machine: a home, a project, an environment.

use std::fs;
use std::path::Path;

use jackfield_assembly::{Config, ConfigError, Flags, Surroundings, load};
use tempfile::TempDir;

/// A home and a project in it; nothing of the real ones.
pub(crate) struct World {
    folder: TempDir,
    pub(crate) variables: Vec<(&'static str, &'static str)>,
}

impl World {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("home/project/deep")).unwrap();
        Self {
            folder,
            variables: Vec::new(),
        }
    }

    /// Writes a file below the home.
    pub(crate) fn with(self, path: &str, text: impl AsRef<[u8]>) -> Self {
        let path = self.home().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// Writes the user's own file.
    pub(crate) fn with_user(self, text: impl AsRef<[u8]>) -> Self {
        self.with(".config/jackfield/jackfield.toml", text)
    }

    /// Writes the project's file.
    pub(crate) fn with_project(self, text: impl AsRef<[u8]>) -> Self {
        self.with("project/jackfield.toml", text)
    }

    pub(crate) fn home(&self) -> std::path::PathBuf {
        self.folder.path().join("home")
    }

    pub(crate) fn surroundings(&self, directory: &str) -> Surroundings {
        Surroundings {
            cache_directory: Some(self.home().join(".cache")),
            config_directory: Some(self.home().join(".config")),
            data_directory: Some(self.home().join(".local/share")),
            directory: self.home().join(directory),
            environment: self.variables.iter().copied().collect(),
            home: Some(self.home()),
            state_directory: Some(self.home().join(".local/state")),
        }
    }

    pub(crate) fn load(&self) -> Result<Config, ConfigError> {
        self.load_with(&Flags::default())
    }

    pub(crate) fn load_with(&self, flags: &Flags) -> Result<Config, ConfigError> {
        load(&self.surroundings("project"), flags)
    }

    /// What is wrong, a line each, without the home before the paths.
    pub(crate) fn problems(&self) -> Vec<String> {
        lines(&self.load().unwrap_err(), &self.home())
    }
}

/// What is wrong, a line each.
pub(crate) fn lines(error: &ConfigError, home: &Path) -> Vec<String> {
    let ConfigError::Wrong(problems) = error else {
        panic!("{error}");
    };
    let home = format!("{}/", home.display());
    problems
        .iter()
        .map(|problem| problem.to_string().replace(&home, "~/"))
        .collect()
}
