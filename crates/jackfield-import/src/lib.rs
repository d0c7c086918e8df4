//! Reads the configuration of another gateway, and says the same in Jackfield's; and reads the conversations of other
//! programs' exports.
//!
//! Pure: from a text to a text or values, and remarks on everything that could not be carried over as it was.
//! No key is ever written: where the other file names an environment variable, its name is kept; a key that stands in
//! the file is left out, and a remark says which variable takes it.

pub mod conversations;
mod litellm;
mod yaml;

use std::fmt;

use thiserror::Error;

pub use self::litellm::import as litellm;

/// A configuration in Jackfield's form.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Imported {
    /// The text of a `jackfield.toml`.
    pub configuration: String,
    /// What a person has to know or to do, in the order of the lines.
    pub remarks: Vec<Remark>,
}

/// A remark on one place of the file that was read.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[non_exhaustive]
pub struct Remark {
    /// The line, from 1.
    pub line: usize,
    /// The keys down to the place, such as `router_settings.timeout`.
    pub place: String,
    /// What became of it, and what to do: a part of a sentence. It never has a value of the file that could be a key.
    pub text: String,
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}: {}", self.line, self.place, self.text)
    }
}

/// Why a file could not be read at all.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum ImportError {
    /// It is not a configuration of that gateway: name another file.
    #[error("this is no configuration of {gateway}: it has no `{wanted}`")]
    Foreign {
        /// The gateway whose file was expected.
        gateway: &'static str,
        /// The key that every such file has.
        wanted: &'static str,
    },
    /// The text is not YAML: mend it at this line.
    #[error("line {line}: {problem}")]
    Malformed {
        /// The line, from 1.
        line: usize,
        problem: String,
    },
    /// It is larger, or nested deeper, than any such file.
    #[error("the file is too large: {bound}")]
    TooLarge {
        /// The bound that it exceeds, such as `1 MiB`.
        bound: &'static str,
    },
}
