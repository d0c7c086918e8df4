//! The slices with the vendors' SDKs and with coding agents, those of `tests/sdks`, in front of the gateway.

use std::path::Path;
use std::time::Instant;

use super::install;
use crate::run;

/// Installs the SDKs and the agents, and runs the slices with them.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let node = install::node(root, "tests/sdks")?;
    let agents = install::node(root, "tests/agents")?;
    let python = install::python(root, "tests/python/requirements.txt")?;
    let started = Instant::now();
    let mut test = run::cargo(root, ["test", "--workspace", "--test", "sdks"]);
    test.args(["--features", "jackfield-tests/sdks"])
        .env("JACKFIELD_SDKS_AGENTS", agents)
        .env("JACKFIELD_SDKS_NODE", node)
        .env("JACKFIELD_SDKS_PYTHON", python);
    run::succeed(&mut test)?;
    eprintln!("sdks: {}", run::spoken(started.elapsed()));
    Ok(())
}
