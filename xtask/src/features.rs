//! `cargo xtask features`: the builds that leave something out.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, ensure};

use crate::{run, workspace};

/// Lints each feature of the assembly alone, and the small program; tries that program out.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let started = Instant::now();
    let packages = workspace::packages(root)?;
    let assembly = packages.iter().find(|package| package.name == ASSEMBLY);
    let assembly = assembly.with_context(|| format!("there is no package `{ASSEMBLY}`"))?;
    clippy(root, ASSEMBLY, "")?;
    for feature in &assembly.features {
        clippy(root, ASSEMBLY, feature)?;
    }
    clippy(root, "jackfield-server", "")?;
    clippy(root, "jackfield-cli", "claude,serve")?;
    small(root)?;
    eprintln!("features: {}", run::spoken(started.elapsed()));
    Ok(())
}

/// Lints the program with Claude alone, and tries it out.
fn small(root: &Path) -> anyhow::Result<()> {
    clippy(root, "jackfield-cli", SMALL)?;
    let test = || {
        let mut test = run::cargo(root, ["test", "--package", "jackfield-cli"]);
        test.args(["--no-default-features", "--features", SMALL]);
        test.args(["--test", "it", "--", "left_out::"]);
        test
    };
    let tests = run::output(test().arg("--list"))?;
    ensure!(tests.contains("left_out::"), "there is no test to run");
    run::succeed(&mut test())
}

fn clippy(root: &Path, package: &str, features: &str) -> anyhow::Result<()> {
    println!("{package} with `{features}` alone");
    let mut clippy = run::cargo(root, ["clippy", "--quiet", "--package", package]);
    clippy.args(["--no-default-features", "--features", features]);
    run::succeed(clippy.args(["--", "--deny", "warnings"]))
}

const ASSEMBLY: &str = "jackfield-assembly";

/// The features of the small program: those of the guide to its installation.
const SMALL: &str = "claude";
