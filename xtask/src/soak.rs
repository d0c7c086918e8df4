//! `cargo xtask soak`: mixed traffic on the gateway for a while; afterwards nothing may be left of it.

use std::path::Path;

use crate::run;
use crate::testing::test_binary::TestBinary;

/// Runs it for so many minutes, and prints the figures.
pub(crate) fn run(root: &Path, minutes: u64) -> anyhow::Result<()> {
    let built = TestBinary::build(root, &["it"])?;
    let mut test = TestBinary::of_package(&built, "jackfield-tests")?.command();
    test.args(["soak::", "--nocapture"]);
    run::succeed(test.env("JACKFIELD_SOAK_SECONDS", (minutes * 60).to_string()))
}
