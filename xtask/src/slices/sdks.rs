//! What the slices with the vendors' SDKs and with coding agents need, those of `tests/sdks`.

use std::path::Path;

use super::install;
use crate::testing::suite::Variables;

/// Installs the SDKs and the agents.
pub(crate) fn prepare(root: &Path) -> anyhow::Result<Variables> {
    let python = install::python(root, "tests/python/requirements.txt")?;
    Ok(vec![
        (
            "JACKFIELD_SDKS_AGENTS",
            install::node(root, "tests/agents")?.into(),
        ),
        (
            "JACKFIELD_SDKS_NODE",
            install::node(root, "tests/sdks")?.into(),
        ),
        ("JACKFIELD_SDKS_PYTHON", python.into()),
    ])
}
