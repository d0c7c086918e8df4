//! `jackfield completions`: shell completions.

use std::io::{self, Write as _};

use clap::CommandFactory as _;

use crate::args::{Args, Completions};
use crate::commands::printed;
use crate::exit::Exit;
use crate::fault::CommandError;

/// Prints the completions of a shell.
///
/// # Errors
///
/// [`CommandError`] if they cannot be written.
pub fn run(completions: &Completions) -> Result<Exit, CommandError> {
    // Generated into memory first, as the generator panics on a closed pipe.
    let mut script = Vec::new();
    clap_complete::generate(
        completions.shell,
        &mut Args::command(),
        "jackfield",
        &mut script,
    );
    let mut out = io::stdout();
    printed::finish(
        out.write_all(&script).and_then(|()| out.flush()),
        Exit::Answered,
    )
}
