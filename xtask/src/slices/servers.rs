//! The slices with real MCP servers, those of `tests/servers`, and with real clients, those of
//! `tests/clients`: driven by `tests/real`.

use std::path::Path;
use std::time::Instant;

use super::install;
use crate::run;

/// Installs the servers, and runs the slices with them.
pub(super) fn run(root: &Path) -> anyhow::Result<()> {
    let node = install::node(root, "tests/servers")?;
    let conformance = install::node(root, "tests/conformance-server")?;
    let python = install::python(root, "tests/servers/requirements.txt")?;
    let started = Instant::now();
    let mut test = run::cargo(root, ["test", "--workspace", "--test", "real"]);
    test.args(["--features", "jackfield-tests/real-servers"])
        .env("JACKFIELD_REAL_CONFORMANCE_SERVER", conformance)
        .env("JACKFIELD_REAL_NODE", node)
        .env("JACKFIELD_REAL_PYTHON", python);
    run::succeed(&mut test)?;
    eprintln!("real servers: {}", run::spoken(started.elapsed()));
    Ok(())
}
