//! The slices with real MCP servers, those of `tests/servers`, with real clients, those of `tests/clients`, and with
//! the authorization server of `tests/sign-in`: driven by `tests/real`.

use std::path::Path;
use std::time::Instant;

use super::install;
use crate::run;

/// Installs the servers, and runs the slices with them; with a name, those alone whose names have it.
pub(crate) fn run(root: &Path, name: Option<&str>) -> anyhow::Result<()> {
    let node = install::node(root, "tests/servers")?;
    let conformance = install::node(root, "tests/conformance-server")?;
    let sign_in = install::node(root, "tests/sign-in")?;
    let python = install::python(root, "tests/servers/requirements.txt")?;
    if name.is_some() {
        // Otherwise it was built with all tests.
        let mut build = run::cargo(root, ["build", "--bin", "jackfield"]);
        run::succeed(build.args(SLICES))?;
    }
    let started = Instant::now();
    let mut test = run::cargo(root, ["test"]);
    test.args(SLICES)
        .env("JACKFIELD_REAL_CONFORMANCE_SERVER", conformance)
        .env("JACKFIELD_REAL_NODE", node)
        .env("JACKFIELD_REAL_PYTHON", python)
        .env("JACKFIELD_REAL_SIGN_IN", sign_in);
    if let Some(name) = name {
        test.args(["--", name]);
    }
    run::succeed(&mut test)?;
    eprintln!("real servers: {}", run::spoken(started.elapsed()));
    Ok(())
}

/// The slices, and the feature that builds them.
const SLICES: [&str; 5] = [
    "--workspace",
    "--features",
    "jackfield-tests/real-servers",
    "--test",
    "real",
];
