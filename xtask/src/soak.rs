//! `cargo xtask soak`: mixed traffic on the gateway for a while; afterwards nothing may be left of it.

use std::path::Path;

use crate::run;

/// Runs it for so many minutes, and prints the figures.
pub(crate) fn run(root: &Path, minutes: u64) -> anyhow::Result<()> {
    let build = [
        "build",
        "--package",
        "jackfield-cli",
        "--package",
        "jackfield-testservers",
    ];
    run::succeed(&mut run::cargo(root, build))?;
    let mut test = run::cargo(
        root,
        ["test", "--package", "jackfield-tests", "--test", "it"],
    );
    test.args(["soak::", "--", "--nocapture"]);
    run::succeed(test.env("JACKFIELD_SOAK_SECONDS", (minutes * 60).to_string()))
}
