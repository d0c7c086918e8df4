//! `cargo xtask bench`: measures Jackfield against the floors of `benches`.

use std::path::Path;

use crate::run;
use crate::workspace;

/// Builds what is measured in the profile `dist`, and runs the benchmarks; `args` go to them. Without
/// any, the figures go to `docs/benchmarks.md`.
pub(crate) fn run(root: &Path, args: &[String]) -> anyhow::Result<()> {
    // The program by itself, as people build it: others may want more of its dependencies.
    for package in ["jackfield-cli", "jackfield-benches"] {
        let build = ["build", "--profile", "dist", "--package", package];
        run::succeed(&mut run::cargo(root, build))?;
    }
    let driver = workspace::target(root)?
        .join("dist")
        .join(format!("jackfield-bench{}", std::env::consts::EXE_SUFFIX));
    let mut command = run::command(driver, root, args);
    if !args.is_empty() {
        return run::succeed(&mut command);
    }
    run::succeed(command.args(["--write", "docs/benchmarks.md"]))?;
    // The cost of a round, over fakes.
    run::succeed(&mut run::cargo(
        root,
        ["bench", "--package", "jackfield-engine"],
    ))
}
