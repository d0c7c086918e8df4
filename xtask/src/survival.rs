//! `cargo xtask survival`: what is left after the worst, with real processes.
//!
//! - The tests `traced` of the journal in a file look at its system calls with `strace`, which is
//!   installed if it is missing. On Linux alone: elsewhere they are left out, and that is said.
//! - The tests `survival` kill the real program, wherever it may be, and look at what is left; also several gateways on
//!   one PostgreSQL database, which is installed if it is missing.
//! - `--load MINUTES` is only the load on two gateways that are killed, for so long.

use std::path::Path;

use anyhow::Context as _;

use crate::testing::flaky::Flaky;
use crate::testing::suite::{Suite, Variables};
use crate::{apt, postgres, run};

/// Runs both, or only the load for so many minutes.
pub(crate) fn run(root: &Path, load: Option<u64>) -> anyhow::Result<()> {
    if let Some(minutes) = load {
        let variables = vec![("JACKFIELD_SURVIVAL_LOAD", minutes.to_string().into())];
        return Suite::Survival.run_with(root, &["load::"], variables, &Flaky::none());
    }
    traced(root)?;
    Suite::Survival.run(root, &[], &Flaky::none())
}

/// What happens at named places, without what is left to chance.
pub(crate) fn named(root: &Path) -> anyhow::Result<()> {
    traced(root)?;
    let skipped = CHANCE.iter().flat_map(|name| ["--skip", name]);
    Suite::Survival.run(root, &skipped.collect::<Vec<_>>(), &Flaky::none())
}

/// What is left to chance.
pub(crate) fn random(root: &Path) -> anyhow::Result<()> {
    Suite::Survival.run(root, CHANCE, &Flaky::none())
}

/// The journal's syncs, as the system calls tell them.
fn traced(root: &Path) -> anyhow::Result<()> {
    if cfg!(target_os = "linux") {
        return Suite::Traced.run(root, &[], &Flaky::none());
    }
    println!("survival: the system calls are traced on Linux alone, and are left out here");
    Ok(())
}

/// Installs the server of the suite that kills gateways.
pub(crate) fn prepare(root: &Path) -> anyhow::Result<Variables> {
    postgres::install(root)?;
    Ok(Vec::new())
}

/// Sees that there is `strace`, which is asked whether it may trace, too: some containers forbid it.
pub(crate) fn prepare_traced(root: &Path) -> anyhow::Result<Variables> {
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
    Ok(Vec::new())
}

/// In the names of the tests of random instants, and of kills under load.
const CHANCE: &[&str] = &["killed_at_any_instant", "under_load"];
