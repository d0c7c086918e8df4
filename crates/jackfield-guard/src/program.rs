//! What is started: a program with its environment, and its guard.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use thiserror::Error;

/// A program to be started as a child process.
#[derive(Clone, Copy, Debug)]
pub struct ChildProgram<'a> {
    pub arguments: &'a [String],
    /// The program: a path, or a name that is looked for in `PATH`.
    pub command: &'a str,
    /// The variables beside the few that every program gets.
    pub environment: &'a [(String, String)],
    /// Its working directory; `None` is ours.
    pub folder: Option<&'a Path>,
    /// How long it may take to end by itself once its input has ended, and again after a signal.
    pub grace: Duration,
    /// Its guard, which outlives us for a moment. Without one, a program that ignores the end of its input outlives
    /// us when we are killed.
    pub guard: Option<&'a GuardProgram>,
}

/// The command that starts the guard: a program that calls [`guard::main`](crate::guard::main) with the arguments
/// that follow these.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct GuardProgram {
    /// The arguments that make the program run as a guard.
    pub arguments: Vec<OsString>,
    pub program: PathBuf,
}

impl GuardProgram {
    /// This program itself, which has to run as a guard if this is its first argument.
    ///
    /// # Errors
    ///
    /// If the path of this program cannot be determined.
    pub fn this_program(argument: impl Into<OsString>) -> std::io::Result<Self> {
        // By this path Linux finds the program even after its file was replaced by a newer one.
        let by_itself = PathBuf::from("/proc/self/exe");
        let program = if cfg!(target_os = "linux") && by_itself.exists() {
            by_itself
        } else {
            std::env::current_exe()?
        };
        Ok(Self {
            arguments: vec![argument.into()],
            program,
        })
    }
}

/// Why a program cannot be started, and what can be done about it.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error("{reason}; {advice}")]
pub struct StartFault {
    /// What to do, in the imperative.
    pub advice: String,
    /// What happened: a sentence without its full stop. Contains no secrets.
    pub reason: String,
}

impl StartFault {
    pub(crate) fn new(reason: impl Into<String>, advice: impl Into<String>) -> Self {
        Self {
            advice: advice.into(),
            reason: reason.into(),
        }
    }
}
