//! `cargo xtask fixture`: the journals that a release leaves for the tests of every later version.

use std::path::Path;

use anyhow::ensure;

use crate::{postgres, run};

/// Makes `tests/fixtures/journal-VERSION.db`, `accounts-VERSION.db.gz` and `accounts-VERSION.sql.gz`, and what is in
/// each as text.
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
    postgres::install(root)?;
    for (binary, name) in MAKERS {
        let mut test = run::cargo(root, ["test", "--package", "jackfield-tests"]);
        test.args(["--features", "postgres", "--test", binary, name]);
        run::succeed(test.env("JACKFIELD_FIXTURE", root.join("tests/fixtures")))?;
    }
    Ok(())
}

/// The tests that leave what they make, by their binaries.
const MAKERS: [(&str, &str); 3] = [
    ("it", "released::the_journal_of_this_version"),
    ("it", "released::users::the_users_of_this_version"),
    ("postgres", "released::the_users_of_this_version"),
];
