//! `cargo xtask bench`: measures the engine.

use std::path::Path;

use crate::run;

/// Runs the engine's benchmarks; `args` go to cargo.
pub(crate) fn run(root: &Path, args: &[String]) -> anyhow::Result<()> {
    let mut command = run::cargo(root, ["bench", "--package", "jackfield-engine"]);
    run::succeed(command.args(args))
}
