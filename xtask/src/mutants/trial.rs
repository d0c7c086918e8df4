//! Building and running the tests of the copy.

use std::fs::File;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;

use crate::run;
use crate::testing::test_binary::TestBinary;
use crate::testing::{CASES, MORE_CASES};

/// What came of a test.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Outcome {
    Failed,
    Hung,
    /// The binary has no test of that name.
    Missing,
    Passed,
}

/// Builds the `it` binary of a package; if it does not compile, returns what the compiler says.
///
/// What the packages of others are built to is shared with the checkout, if `target` is its folder. Ours would
/// be, too: cargo tells two of them apart by where they are in their workspace, which is the same. So `ours`
/// are built as nobody else builds them, and to files of their own.
pub(crate) fn build(
    root: &Path,
    target: &Path,
    ours: &[String],
    package: &str,
) -> anyhow::Result<Result<TestBinary, String>> {
    let mut cargo = run::cargo(root, ["test", "--package", package, "--test", "it"]);
    cargo.args(["--no-run", "--message-format", "json"]);
    for name in ours {
        let apart = format!("profile.dev.package.\"{name}\".codegen-units=255");
        cargo.args(["--config", &apart]);
    }
    cargo.env("CARGO_TARGET_DIR", target);
    let output = cargo.output().context("cannot start cargo")?;
    if !output.status.success() {
        return Ok(Err(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    let binaries = TestBinary::of_messages(root, &output.stdout)?;
    let binary = binaries.into_iter().next();
    binary
        .map(Ok)
        .with_context(|| format!("`{package}` has no test binary `it`"))
}

impl TestBinary {
    /// Runs these tests, in one process; what they print goes to `log`.
    pub(crate) fn run(
        &self,
        tests: &[&str],
        log: &Path,
        patience: Duration,
    ) -> anyhow::Result<Outcome> {
        let output =
            File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
        let mut command = self.command();
        command
            .arg("--exact")
            .args(tests)
            .args(["--test-threads", "1"])
            .env(CASES, MORE_CASES)
            // A mutant's failure is not worth keeping, and the smallest one is not worth looking for.
            .env("INSTA_UPDATE", "no")
            .env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "true")
            .env("PROPTEST_MAX_SHRINK_ITERS", "0")
            .stderr(output.try_clone().context("cannot share the log")?)
            .stdout(output);
        let mut child = command
            .spawn()
            .with_context(|| format!("cannot start {}", self.path.display()))?;
        let started = Instant::now();
        loop {
            if child.try_wait().context("lost the test")?.is_some() {
                break;
            }
            if started.elapsed() > patience {
                child.kill().context("cannot stop the test")?;
                child.wait().context("lost the test")?;
                return Ok(Outcome::Hung);
            }
            thread::sleep(Duration::from_millis(20));
        }
        let said = std::fs::read(log).with_context(|| format!("cannot read {}", log.display()))?;
        Ok(outcome(&String::from_utf8_lossy(&said), tests.len()))
    }
}

/// Reads the closing line of the test runner that was to run so many tests; a runner that did not come to it was
/// brought down by one of them.
fn outcome(said: &str, tests: usize) -> Outcome {
    let closing = said
        .lines()
        .rev()
        .find(|line| line.starts_with("test result: "));
    match closing {
        Some(line) if line.contains(&format!(" {tests} passed; 0 failed;")) => Outcome::Passed,
        Some(line) if line.contains(" passed; 0 failed;") => Outcome::Missing,
        _ => Outcome::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::{Outcome, outcome};

    #[test]
    fn the_closing_line_decides() {
        let closing = |counts: &str| {
            format!("\nrunning\n\ntest result: x. {counts}; 0 ignored; 0 measured\n\n")
        };
        assert_eq!(outcome(&closing("1 passed; 0 failed"), 1), Outcome::Passed);
        assert_eq!(outcome(&closing("0 passed; 1 failed"), 1), Outcome::Failed);
        assert_eq!(outcome(&closing("0 passed; 0 failed"), 1), Outcome::Missing);
        assert_eq!(outcome(&closing("2 passed; 0 failed"), 2), Outcome::Passed);
        assert_eq!(outcome(&closing("1 passed; 1 failed"), 2), Outcome::Failed);
        assert_eq!(outcome(&closing("1 passed; 0 failed"), 2), Outcome::Missing);
        assert_eq!(
            outcome("running 1 test\nthread overflowed its stack\n", 1),
            Outcome::Failed
        );
    }
}
