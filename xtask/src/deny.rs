//! Licences, bans, sources and advisories, by cargo-deny, which is installed if it is missing.

use std::path::Path;

use crate::{run, tools};

/// Checks what is in the tree against `deny.toml`.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    check(root, &["licenses", "bans", "sources"])
}

/// Checks what is in the tree against the advisories of RustSec, which git fetches.
pub(crate) fn advisories(root: &Path) -> anyhow::Result<()> {
    check(root, &["advisories"])
}

fn check(root: &Path, checks: &[&str]) -> anyhow::Result<()> {
    let program = tools::CARGO_DENY.program(root)?;
    // Duplicates are worth a look and no failure; a stage that passes should be short to read.
    let mut check = run::command(program, root, ["--log-level", "error", "--locked", "check"]);
    run::succeed(check.args(checks))
}
