//! The slices with the page in Chromium, those of `tests/page`.

use std::path::Path;
use std::time::Instant;

use super::install;
use crate::run;

/// Installs the driver, and runs the slices with it. The screenshots are below `target/slices/page`.
pub(super) fn run(root: &Path) -> anyhow::Result<()> {
    let chromium = install::chromium(root)?;
    let node = install::node(root, "tests/page")?;
    let started = Instant::now();
    let mut test = run::cargo(root, ["test", "--workspace", "--test", "page"]);
    test.args(["--features", "jackfield-tests/page"])
        .env("JACKFIELD_PAGE_CHROMIUM", chromium)
        .env("JACKFIELD_PAGE_NODE", node)
        .env("JACKFIELD_PAGE_SHOTS", root.join("target/slices/page"));
    run::succeed(&mut test)?;
    eprintln!("page: {}", run::spoken(started.elapsed()));
    Ok(())
}
