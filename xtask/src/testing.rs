//! `cargo xtask test`: every test and doctest, with nothing but Rust.

pub(crate) mod flaky;
pub(crate) mod runner;
pub(crate) mod stress;
pub(crate) mod suite;
pub(crate) mod test_binary;

use std::path::Path;
use std::thread;
use std::time::Instant;

use crate::testing::flaky::Flaky;
use crate::testing::runner::{Job, LOGS, run_all};
use crate::testing::suite::Suite;
use crate::testing::test_binary::TestBinary;
use crate::{contracts, run, slices};

/// Builds the tests of the whole workspace, and runs their binaries side by side. With arguments, cargo runs what they
/// name, as it does.
pub(crate) fn run(root: &Path, args: &[String]) -> anyhow::Result<()> {
    if !args.is_empty() {
        let mut command = run::cargo(root, ["test", "--workspace"]);
        return run::succeed(command.args(args));
    }
    all(root, &Flaky::none(), |_| {})
}

/// The same for CI: some tests write what later stages judge, and a few of the slices may be flaky.
pub(crate) fn for_ci(root: &Path, flaky: &Flaky) -> anyhow::Result<()> {
    let (wire, clauses) = (slices::empty_wire(root)?, contracts::empty_out(root)?);
    all(root, flaky, |job| {
        let package = job.title.split(' ').next().unwrap_or_default();
        if slices::SPEAKERS.contains(&package) {
            job.command.env(slices::WIRE_OUT, &wire);
        } else if package == contracts::PACKAGE {
            job.command.env(contracts::CONTRACTS_OUT, &clauses);
        }
    })
}

/// The same, with more cases of each property.
pub(crate) fn with_more_cases(root: &Path) -> anyhow::Result<()> {
    all(root, &Flaky::none(), |job| {
        job.command.env(CASES, MORE_CASES);
    })
}

fn all(root: &Path, flaky: &Flaky, change: impl Fn(&mut Job)) -> anyhow::Result<()> {
    let started = Instant::now();
    run::empty_folder(&root.join(LOGS))?;
    let binaries = TestBinary::build_all(root)?;
    eprintln!("tests: built in {}", run::spoken(started.elapsed()));
    let cores = thread::available_parallelism().map_or(2, usize::from);
    let threads = (cores * WAITING_PER_CORE).to_string();
    let mut jobs = vec![documentation(root)];
    for binary in &binaries {
        let mut job = Job::of_binary(binary);
        if binary.package == SLICES {
            job.sources = Suite::It.sources(root);
        }
        job.waits = WAITING.contains(&&*binary.package);
        if job.waits {
            job.command.args(["--test-threads", &threads]);
        }
        change(&mut job);
        jobs.push(job);
    }
    // The long ones first.
    jobs.sort_by_key(|job| {
        let is_of = |package: &&str| job.title.starts_with(*package);
        LONG.iter().position(is_of).unwrap_or(LONG.len())
    });
    run_all(root, jobs, flaky)?;
    eprintln!("tests: {}", run::spoken(started.elapsed()));
    Ok(())
}

/// The examples in the documentation of the crates that have some.
fn documentation(root: &Path) -> Job {
    Job {
        command: run::cargo(root, ["test", "--workspace", "--doc", "--quiet"]),
        sources: None,
        one: "cargo test --workspace --doc".to_owned(),
        is_shown: false,
        title: "documentation".to_owned(),
        waits: false,
    }
}

/// Says how many cases a property plays; `.cargo/config.toml` has the usual number.
pub(crate) const CASES: &str = "PROPTEST_CASES";

/// How many they are where time is no matter.
pub(crate) const MORE_CASES: &str = "512";

/// The package of the slices.
const SLICES: &str = "jackfield-tests";

/// Packages whose tests mostly wait.
const WAITING: &[&str] = &[
    SLICES,
    "jackfield-provider-claude-code",
    "jackfield-provider-openai",
    "jackfield-tools-mcp",
];

/// How many of their tests wait side by side, per core.
const WAITING_PER_CORE: usize = 3;

/// Those that take longest, in order.
const LONG: &[&str] = &[
    SLICES,
    "documentation",
    "jackfield-domain",
    "jackfield-testkit",
    "jackfield-engine",
];
