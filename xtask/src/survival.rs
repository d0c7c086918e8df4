//! `cargo xtask survival`: what is left after the worst, with real processes.
//!
//! - The tests `traced` of the journal in a file look at its system calls with `strace`, which is
//!   installed if it is missing. On Linux alone: elsewhere they are left out, and that is said.
//! - The tests `survival` kill the real program, wherever it may be, and look at what is left; also several gateways on
//!   one PostgreSQL database, which is installed if it is missing.
//! - `--load MINUTES` is only the load on two gateways that are killed, for so long.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::Context as _;

use crate::{apt, postgres, run};

/// Runs both, or only the load for so many minutes.
pub(crate) fn run(root: &Path, load: Option<u64>) -> anyhow::Result<()> {
    let started = Instant::now();
    if let Some(minutes) = load {
        postgres::install(root)?;
        build(root)?;
        let mut test = tests(root);
        test.env("JACKFIELD_SURVIVAL_LOAD", minutes.to_string());
        return run::succeed(test.args(["--", "--nocapture", "load::"]));
    }
    if cfg!(target_os = "linux") {
        strace(root)?;
        traced(root)?;
    } else {
        println!("survival: the system calls are traced on Linux alone, and are left out here");
    }
    postgres::install(root)?;
    build(root)?;
    killed(root)?;
    eprintln!("survival: {}", run::spoken(started.elapsed()));
    Ok(())
}

/// The journal's syncs, as the system calls tell them.
fn traced(root: &Path) -> anyhow::Result<()> {
    let appender = ["build", "--workspace", "--example", "appender"];
    run::succeed(&mut run::cargo(root, appender))?;
    let mut test = run::cargo(root, ["test", "--workspace", "--test", "traced"]);
    run::succeed(test.args(["--features", "jackfield-store-sqlite/traced"]))
}

/// Builds the program that can be killed, and what stands around it.
fn build(root: &Path) -> anyhow::Result<()> {
    let programs = ["build", "--bin", "jackfield-crash", "--bin", "scripted-*"];
    run::succeed(run::cargo(root, programs).args(KILLED))
}

fn tests(root: &Path) -> Command {
    let mut test = run::cargo(root, ["test"]);
    test.args(KILLED);
    test
}

/// The real program, killed and started again. Its tables are printed.
fn killed(root: &Path) -> anyhow::Result<()> {
    let mut test = tests(root);
    // One after another: the machine is to be the same for each of them, and the tables whole.
    run::succeed(test.args(["--", "--nocapture", "--test-threads", "1"]))
}

/// Sees that there is `strace`, which is asked whether it may trace, too: some containers forbid it.
fn strace(root: &Path) -> anyhow::Result<()> {
    if run::output(&mut run::command("strace", root, ["--version"])).is_err() {
        apt::install(root, "strace")
            .context("install strace: with `apt-get install strace`, or your own way")?;
    }
    let mut trace = run::command(
        "strace",
        root,
        ["--quiet=all", "--output=/dev/null", "true"],
    );
    run::output(&mut trace).context("strace may not trace here: allow ptrace in this container")?;
    Ok(())
}

/// The tests that kill the program, and the features that both have.
const KILLED: [&str; 5] = [
    "--workspace",
    "--features",
    "jackfield-cli/crash-points,jackfield-tests/survival",
    "--test",
    "survival",
];
