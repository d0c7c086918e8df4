//! `cargo xtask stress`: tests again and again, beside artificial load. Prints the share of failures of each.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{BuildHasher as _, RandomState};
use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};

use crate::args::Stress;
use crate::run;
use crate::testing::runner::{Closing, captured};
use crate::testing::suite::Variables;
use crate::testing::test_binary::TestBinary;

/// Runs the tests whose names have this word, so many times, beside so much load.
pub(crate) fn run(root: &Path, asked: &Stress) -> anyhow::Result<()> {
    let variables = asked.suite.prepare(root)?;
    let built = TestBinary::build(root, asked.suite.targets())?;
    let mut binaries = Vec::new();
    for binary in built {
        let tests = tests(&binary, asked)?;
        if tests > 0 {
            println!("{} {}: {tests} tests", binary.package, binary.target);
            binaries.push(binary);
        }
    }
    ensure!(!binaries.is_empty(), "no test of this suite has that name");
    let logs = root.join("target/stress");
    run::empty_folder(&logs)?;
    let mut failures: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    let started = Instant::now();
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..asked.load {
            scope.spawn(|| {
                while !ended.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        if asked.load > 0 {
            scope.spawn(|| slow_disk(&logs.join("load"), &ended));
        }
        let done = repeat(asked, &binaries, &variables, &logs, &mut failures);
        ended.store(true, Ordering::Relaxed);
        done
    })?;
    let times = asked.times;
    for (test, seeds) in &failures {
        println!(
            "{test}: failed {} of {times} times; seeds {seeds:?}",
            seeds.len()
        );
    }
    eprintln!("stress: {times} times, {}", run::spoken(started.elapsed()));
    if !failures.is_empty() {
        bail!(
            "{} tests failed; what they said is in {}",
            failures.len(),
            logs.display()
        );
    }
    println!("none failed");
    Ok(())
}

/// How many tests of a binary are meant.
fn tests(binary: &TestBinary, asked: &Stress) -> anyhow::Result<usize> {
    let mut list = binary.command();
    list.args(["--list", "--format", "terse"])
        .args(asked.filters());
    let listed = run::output(&mut list)?;
    Ok(listed
        .lines()
        .filter(|line| line.ends_with(": test"))
        .count())
}

fn repeat(
    asked: &Stress,
    binaries: &[TestBinary],
    variables: &Variables,
    logs: &Path,
    failures: &mut BTreeMap<String, Vec<u64>>,
) -> anyhow::Result<()> {
    for nth in 1..=asked.times {
        // Each state has random keys of its own.
        let seed = asked
            .seed
            .unwrap_or_else(|| RandomState::new().hash_one(nth));
        println!("{nth} of {}: seed {seed}", asked.times);
        for binary in binaries {
            let log = logs.join(format!("{}-{nth}.log", binary.package));
            let mut command = asked.suite.command(binary, variables);
            command.args(asked.filters());
            for variable in SEEDS {
                command.env(variable, seed.to_string());
            }
            let status = captured(&mut command, &log, LIMIT)?;
            let said = fs::read(&log).with_context(|| format!("cannot read {}", log.display()))?;
            let mut failed = Closing::read(&String::from_utf8_lossy(&said)).failed;
            if status.is_some_and(|status| status.success()) {
                fs::remove_file(&log).context("cannot remove a log")?;
            } else if failed.is_empty() {
                let how =
                    status.map_or_else(|| "did not end".to_owned(), |status| status.to_string());
                failed.push(format!("{} {} ({how})", binary.package, binary.target));
            }
            for test in failed {
                println!("    {test} failed: {}", log.display());
                failures.entry(test).or_default().push(seed);
            }
        }
    }
    Ok(())
}

/// Writes and syncs, so that others wait for the disk.
fn slow_disk(file: &Path, ended: &AtomicBool) {
    let block = vec![7_u8; 4 << 20];
    while !ended.load(Ordering::Relaxed) {
        let written = fs::File::create(file).and_then(|mut file| {
            file.write_all(&block)?;
            file.sync_all()
        });
        if written.is_err() {
            return;
        }
    }
    let _gone = fs::remove_file(file);
}

/// What takes a seed: properties, and the instants of kills.
const SEEDS: &[&str] = &["PROPTEST_RNG_SEED", "JACKFIELD_SURVIVAL_SEED"];

/// How long one binary may take.
const LIMIT: Duration = Duration::from_secs(60 * 60);
