//! `cargo xtask fixture`: the journals that a release leaves for the tests of every later version.

use std::path::Path;

use anyhow::{Context as _, ensure};

use crate::testing::test_binary::TestBinary;
use crate::{postgres, run};

/// Makes `tests/fixtures/journal-VERSION.db`, `accounts-VERSION.db.gz` and `accounts-VERSION.sql.gz`, and what is in
/// each as text.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let version = env!("CARGO_PKG_VERSION");
    ensure!(
        !version.contains('-'),
        "{version} is no release: set the version in Cargo.toml first"
    );
    postgres::install(root)?;
    let built = TestBinary::build(root, &["it", "postgres"])?;
    for (target, name) in MAKERS {
        let maker = built
            .iter()
            .find(|binary| binary.package == "jackfield-tests" && binary.target == target);
        let mut maker = maker
            .with_context(|| format!("there is no test binary `{target}`"))?
            .command();
        run::succeed(
            maker
                .arg(name)
                .env("JACKFIELD_FIXTURE", root.join("tests/fixtures")),
        )?;
    }
    Ok(())
}

/// The tests that leave what they make, by their binaries.
const MAKERS: [(&str, &str); 3] = [
    ("it", "released::the_journal_of_this_version"),
    ("it", "released::users::the_users_of_this_version"),
    ("postgres", "released::the_users_of_this_version"),
];
