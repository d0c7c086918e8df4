//! The problem of a name that no provider has.

use jackfield_engine::near::did_you_mean;

use crate::{features, kinds};

/// The problem of a name that no provider has.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct UnknownProvider {
    /// What a person can do.
    pub help: String,
    /// What is wrong.
    pub message: String,
}

impl UnknownProvider {
    /// The problem of this name; `known` are the names that there are. A provider that this build leaves out is named
    /// with its feature.
    #[must_use]
    pub fn new(name: &str, known: &[impl AsRef<str>]) -> Self {
        if let Some(feature) = kinds::left_out(name) {
            return Self {
                help: features::help(feature),
                message: features::reason(feature),
            };
        }
        Self {
            help: format!("add it under [providers.{name}] in jackfield.toml"),
            message: format!("there is no provider `{name}`{}", did_you_mean(name, known)),
        }
    }
}
