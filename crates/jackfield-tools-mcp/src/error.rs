//! The error of a server that cannot be used.

use std::fmt;

use jackfield_guard::StartFault;
use thiserror::Error;

/// Why a server cannot be used, and what can be done about it.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub struct ServerFault {
    /// What to do, in the imperative.
    pub advice: String,
    /// What happened: a sentence without its full stop. Contains no secrets.
    pub reason: String,
}

impl ServerFault {
    pub(crate) fn new(reason: impl Into<String>, advice: impl Into<String>) -> Self {
        Self {
            advice: advice.into(),
            reason: reason.into(),
        }
    }
}

impl From<StartFault> for ServerFault {
    fn from(fault: StartFault) -> Self {
        Self::new(fault.reason, fault.advice)
    }
}

impl fmt::Display for ServerFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.reason, self.advice)
    }
}
