//! The suites of tests: how each is built, what it needs beside Rust, and how it is run.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use clap::ValueEnum;

use crate::slices::{page, sdks, servers};
use crate::testing::flaky::Flaky;
use crate::testing::runner::{Job, run_all};
use crate::testing::test_binary::TestBinary;
use crate::{postgres, run, survival};

/// A suite of tests.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum Suite {
    /// What needs nothing but Rust.
    It,
    /// The page in Chromium.
    Page,
    /// The journal on a PostgreSQL server.
    Postgres,
    /// Real MCP servers and a real authorization server.
    Real,
    /// The vendors' SDKs, and coding agents.
    Sdks,
    /// The program, killed wherever it may be.
    Survival,
    /// The journal's system calls.
    Traced,
}

/// Variables that a suite reads.
pub(crate) type Variables = Vec<(&'static str, OsString)>;

impl Suite {
    /// Its test targets; of those that need nothing but Rust, `it`, which most packages have.
    pub(crate) const fn targets(self) -> &'static [&'static str] {
        match self {
            Self::It => &["it"],
            Self::Page => &["page"],
            Self::Postgres => &["server", "postgres"],
            Self::Real => &["real"],
            Self::Sdks => &["sdks"],
            Self::Survival => &["survival"],
            Self::Traced => &["traced"],
        }
    }

    /// Installs what it needs, and returns the variables that say where that is.
    pub(crate) fn prepare(self, root: &Path) -> anyhow::Result<Variables> {
        match self {
            Self::It => Ok(Vec::new()),
            Self::Page => page::prepare(root),
            Self::Postgres => postgres::prepare(root),
            Self::Real => servers::prepare(root),
            Self::Sdks => sdks::prepare(root),
            Self::Survival => survival::prepare(root),
            Self::Traced => survival::prepare_traced(root),
        }
    }

    /// What runs a binary of this suite, with all its tests.
    pub(crate) fn command(self, binary: &TestBinary, variables: &Variables) -> Command {
        let mut command = binary.command();
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        if self == Self::Survival {
            // One after another: the machine is to be the same for each of them, and the tables whole.
            command.args(["--nocapture", "--test-threads", "1"]);
        }
        command
    }

    /// The sources of its tests if one that failed may be flaky.
    pub(crate) fn sources(self, root: &Path) -> Option<PathBuf> {
        match self {
            Self::It | Self::Page | Self::Real | Self::Sdks => {
                Some(root.join("tests").join(self.name()))
            }
            Self::Postgres | Self::Survival | Self::Traced => None,
        }
    }

    /// Builds this suite and runs it, with these arguments for its tests.
    pub(crate) fn run(self, root: &Path, args: &[&str], flaky: &Flaky) -> anyhow::Result<()> {
        self.run_with(root, args, Vec::new(), flaky)
    }

    /// The same, with further variables.
    pub(crate) fn run_with(
        self,
        root: &Path,
        args: &[&str],
        mut variables: Variables,
        flaky: &Flaky,
    ) -> anyhow::Result<()> {
        let started = Instant::now();
        variables.extend(self.prepare(root)?);
        let built = TestBinary::build(root, self.targets())?;
        let jobs = built
            .iter()
            .map(|binary| self.job(root, binary, &variables, args));
        run_all(root, jobs.collect(), flaky)?;
        eprintln!("{}: {}", self.name(), run::spoken(started.elapsed()));
        Ok(())
    }

    fn job(self, root: &Path, binary: &TestBinary, variables: &Variables, args: &[&str]) -> Job {
        let mut command = self.command(binary, variables);
        command.args(args);
        Job {
            command,
            sources: self.sources(root),
            one: format!(
                "cargo xtask stress --suite {} --times 1 --load 0",
                self.name()
            ),
            is_shown: self == Self::Survival,
            ..Job::of_binary(binary)
        }
    }

    /// Its name on the command line.
    pub(crate) fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum as _;

    use super::Suite;

    #[test]
    fn every_suite_has_targets() {
        for suite in Suite::value_variants() {
            assert!(!suite.targets().is_empty(), "{}", suite.name());
        }
    }
}
