//! What the slices with the page in Chromium need, those of `tests/page`.

use std::path::Path;

use super::install;
use crate::testing::suite::Variables;

/// Installs the driver and Chromium. The screenshots are below `target/slices/page`.
pub(crate) fn prepare(root: &Path) -> anyhow::Result<Variables> {
    Ok(vec![
        ("JACKFIELD_PAGE_CHROMIUM", install::chromium(root)?.into()),
        (
            "JACKFIELD_PAGE_NODE",
            install::node(root, "tests/page")?.into(),
        ),
        (
            "JACKFIELD_PAGE_SHOTS",
            root.join("target/slices/page").into(),
        ),
    ])
}
