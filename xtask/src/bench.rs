//! `cargo xtask bench`: measures Jackfield against the floors of `benches`.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use cargo_metadata::MetadataCommand;

use crate::run;

/// Builds what is measured in the release profile, and runs the benchmarks; `args` go to them. Without
/// any, the figures go to `docs/benchmarks.md`.
pub(crate) fn run(root: &Path, args: &[String]) -> anyhow::Result<()> {
    let packages = [
        "--package",
        "jackfield-cli",
        "--package",
        "jackfield-benches",
    ];
    let build = ["build", "--release"].into_iter().chain(packages);
    run::succeed(&mut run::cargo(root, build))?;
    let driver = target(root)?
        .join("release")
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

/// The folder that cargo builds in.
fn target(root: &Path) -> anyhow::Result<PathBuf> {
    let metadata = MetadataCommand::new()
        .manifest_path(root.join("Cargo.toml"))
        .no_deps()
        .exec()
        .context("cannot read the workspace's metadata")?;
    Ok(metadata.target_directory.into_std_path_buf())
}
