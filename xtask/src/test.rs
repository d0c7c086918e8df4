//! `cargo xtask test`: every test and doctest, with nothing but Rust.

use std::path::Path;
use std::time::Instant;

use crate::run;

/// Runs the tests of the whole workspace; the output is cargo's, the time goes to standard error.
pub(crate) fn run(root: &Path, args: &[String]) -> anyhow::Result<()> {
    let started = Instant::now();
    let mut command = run::cargo(root, ["test", "--workspace"]);
    run::succeed(command.args(args))?;
    eprintln!("tests: {}", run::spoken(started.elapsed()));
    Ok(())
}
