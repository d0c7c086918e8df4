//! Sources of configuration values, and configuration errors.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jackfield_engine::near::DID_YOU_MEAN;
use serde_json::Value;
use thiserror::Error;

/// The values of a configuration as they were written, by key. Some are secret.
#[derive(Clone, Default)]
pub(crate) struct ConfiguredValues(pub(crate) BTreeMap<String, (Value, ValueSource)>);

impl fmt::Debug for ConfiguredValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// The source of a value.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ValueSource {
    /// Its key, with dots, such as `limits.rounds`.
    pub key: Option<String>,
    /// Its line, from 1, in a file.
    pub line: Option<usize>,
    /// Its origin.
    pub origin: Origin,
}

/// The origin of a value.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Origin {
    /// A default.
    Default,
    /// A file, by its display path.
    File(Arc<Path>),
    /// A flag, with its dashes.
    Flag(&'static str),
    /// An environment variable.
    Variable(&'static str),
}

impl From<Origin> for ValueSource {
    fn from(origin: Origin) -> Self {
        Self {
            key: None,
            line: None,
            origin,
        }
    }
}

impl ValueSource {
    /// The place in short, without the key: `jackfield.toml:12`, `JACKFIELD_MODEL`, `--model`, `default`.
    #[must_use]
    pub fn short(&self) -> String {
        match (&self.origin, self.line) {
            (Origin::Default, _) => "default".to_owned(),
            (Origin::File(path), Some(line)) => format!("{}:{line}", path.display()),
            (Origin::File(path), None) => path.display().to_string(),
            (Origin::Flag(name) | Origin::Variable(name), _) => (*name).to_owned(),
        }
    }

    /// The origin as text.
    pub(crate) fn origin_in_words(&self) -> String {
        let origin = Self::from(self.origin.clone());
        origin.to_string()
    }
}

impl fmt::Display for ValueSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.origin {
            Origin::Default => f.write_str("the defaults")?,
            Origin::File(path) => write!(f, "{}", path.display())?,
            Origin::Flag(name) | Origin::Variable(name) => f.write_str(name)?,
        }
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(key) = &self.key {
            write!(f, ": key `{key}`")?;
        }
        Ok(())
    }
}

/// A problem in the configuration.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ConfigProblem {
    /// Help, if the message has none.
    pub help: Option<String>,
    /// The problem, without the place.
    pub message: String,
    /// Its place.
    pub place: ValueSource,
}

impl ConfigProblem {
    /// A problem at a place.
    pub(crate) fn new(place: ValueSource, message: impl Into<String>) -> Self {
        Self {
            help: None,
            message: message.into(),
            place,
        }
    }

    /// Adds help.
    pub(crate) fn with_help(self, help: impl Into<String>) -> Self {
        Self {
            help: Some(help.into()),
            ..self
        }
    }

    /// Adds a reference to the documentation page if there is no other help.
    fn with_some_help(self) -> Self {
        if self.help.is_some() || self.message.contains(DID_YOU_MEAN) {
            return self;
        }
        let help = match &self.place.origin {
            Origin::Default | Origin::File(_) => {
                "`docs/configuration.md` has every key, what it takes, and an example".to_owned()
            }
            Origin::Flag(name) => format!("give {name} another value, or leave it out"),
            Origin::Variable(name) => format!("give {name} another value, or unset it"),
        };
        self.with_help(help)
    }
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

/// An unusable configuration.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A named file does not exist, or an existing one cannot be read.
    #[error("the configuration file `{}` cannot be read", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// Invalid values. All problems are reported at once; there is at least one.
    #[error("{}", summary(.0))]
    Wrong(Vec<ConfigProblem>),
}

impl ConfigError {
    /// `Ok` without problems; otherwise an error with all of them.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] with the problems.
    pub fn check(problems: Vec<ConfigProblem>) -> Result<(), Self> {
        if problems.is_empty() {
            Ok(())
        } else {
            let problems = problems.into_iter().map(ConfigProblem::with_some_help);
            Err(Self::Wrong(problems.collect()))
        }
    }
}

impl From<ConfigProblem> for ConfigError {
    fn from(problem: ConfigProblem) -> Self {
        Self::Wrong(vec![problem.with_some_help()])
    }
}

fn summary(problems: &[ConfigProblem]) -> String {
    match problems {
        [] => "the configuration is wrong".to_owned(),
        [problem] => problem.to_string(),
        [first, others @ ..] => format!("{first} (and {} more)", others.len()),
    }
}
