//! `cargo xtask fixture`: the journal that a release leaves for the tests of every later version.

use std::path::Path;

use anyhow::ensure;

use crate::run;

/// Makes `tests/fixtures/journal-VERSION.db`, and what is in it as text.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let version = env!("CARGO_PKG_VERSION");
    ensure!(
        !version.contains('-'),
        "{version} is no release: set the version in Cargo.toml first"
    );
    let build = [
        "build",
        "--package",
        "jackfield-cli",
        "--package",
        "jackfield-testservers",
    ];
    run::succeed(&mut run::cargo(root, build))?;
    let mut test = run::cargo(
        root,
        ["test", "--package", "jackfield-tests", "--test", "it"],
    );
    test.arg("released::the_journal_of_this_version");
    run::succeed(test.env("JACKFIELD_FIXTURE", root.join("tests/fixtures")))
}
