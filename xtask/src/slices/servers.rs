//! What the slices of `tests/real` need: the real MCP servers of `tests/servers`, the authorization server of
//! `tests/sign-in`, and the conformance suite of the protocol for `/mcp`.

use std::path::Path;

use super::install;
use crate::testing::suite::Variables;

/// Installs the servers.
pub(crate) fn prepare(root: &Path) -> anyhow::Result<Variables> {
    let conformance = install::node(root, "tests/conformance-server")?;
    let python = install::python(root, "tests/servers/requirements.txt")?;
    Ok(vec![
        ("JACKFIELD_REAL_CONFORMANCE_SERVER", conformance.into()),
        (
            "JACKFIELD_REAL_NODE",
            install::node(root, "tests/servers")?.into(),
        ),
        ("JACKFIELD_REAL_PYTHON", python.into()),
        (
            "JACKFIELD_REAL_SIGN_IN",
            install::node(root, "tests/sign-in")?.into(),
        ),
    ])
}
