//! `jackfield completions`: what a shell completes.

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
/// A [`CommandError`] if they cannot be written.
pub fn run(completions: &Completions) -> Result<Exit, CommandError> {
    // Into memory first: whoever reads may go away, and the generator would not bear it.
    let mut script = Vec::new();
    clap_complete::generate(
        completions.shell,
        &mut Args::command(),
        "jackfield",
        &mut script,
    );
    let mut out = io::stdout();
    printed::ended(
        out.write_all(&script).and_then(|()| out.flush()),
        Exit::Answered,
    )
}
