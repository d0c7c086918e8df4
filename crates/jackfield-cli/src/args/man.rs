//! The arguments of `jackfield man`.

use std::path::PathBuf;

/// `jackfield man`
#[derive(Clone, Debug, clap::Args)]
pub struct Man {
    /// The command whose page is printed, such as `ask` or `mcp list`; the whole program if none is named.
    #[arg(value_name = "COMMAND", conflicts_with = "out")]
    pub command: Vec<String>,
    /// Write the pages of all commands into this folder.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

pub(super) const EXAMPLES: &str = "\
Examples:
  jackfield man ask | man -l -
  jackfield man --out ~/.local/share/man/man1";
