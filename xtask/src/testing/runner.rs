//! Runs test binaries side by side. What failed stands last, with the command that runs it alone.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};

use crate::run;
use crate::testing::flaky::{Flaky, may_be_flaky};
use crate::testing::test_binary::TestBinary;

/// A run of a test binary, or of what speaks like one.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) command: Command,
    /// The sources of its tests, if one that failed may be flaky.
    pub(crate) sources: Option<PathBuf>,
    /// What runs one test alone; its name is added.
    pub(crate) one: String,
    /// Whether its output is for people, also where it passes.
    pub(crate) is_shown: bool,
    pub(crate) title: String,
    /// Whether it mostly waits, for processes and timers, and so runs beside those that compute.
    pub(crate) waits: bool,
}

impl Job {
    /// All tests of a binary that needs nothing but Rust.
    pub(crate) fn of_binary(binary: &TestBinary) -> Self {
        let TestBinary {
            package, target, ..
        } = binary;
        let of_target = if target == package {
            String::new()
        } else {
            format!(" --test {target}")
        };
        Self {
            command: binary.command(),
            sources: None,
            one: format!("cargo test --package {package}{of_target} -- --exact"),
            is_shown: false,
            title: format!("{package} {target}"),
            waits: false,
        }
    }
}

/// Runs all jobs and returns how many tests passed; any test that fails is an error, and so is one that is ignored.
pub(crate) fn run_all(root: &Path, jobs: Vec<Job>, flaky: &Flaky) -> anyhow::Result<u32> {
    let logs = root.join(LOGS);
    fs::create_dir_all(&logs).with_context(|| format!("cannot make {}", logs.display()))?;
    let cores = thread::available_parallelism().map_or(2, usize::from);
    let (waiting, computing): (VecDeque<Job>, VecDeque<Job>) =
        jobs.into_iter().partition(|job| job.waits);
    let (waiting, computing) = (Mutex::new(waiting), Mutex::new(computing));
    let ran = Mutex::new(Vec::new());
    let work = |queue: &Mutex<VecDeque<Job>>| {
        while let Some(job) = pop(queue) {
            let done = perform(job, &logs);
            if let Ok(done) = &done {
                println!("{done}");
            }
            let mut ran = ran.lock().unwrap_or_else(PoisonError::into_inner);
            ran.push(done);
        }
    };
    thread::scope(|scope| {
        for _ in 0..WAITING_AT_ONCE {
            scope.spawn(|| work(&waiting));
        }
        for _ in 0..cores {
            scope.spawn(|| work(&computing));
        }
    });
    let ran = ran.into_inner().unwrap_or_else(PoisonError::into_inner);
    let ran = ran.into_iter().collect::<anyhow::Result<Vec<Done>>>()?;
    conclude(&logs, ran, flaky)
}

fn pop(queue: &Mutex<VecDeque<Job>>) -> Option<Job> {
    let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
    queue.pop_front()
}

/// A job that has ended.
#[derive(Debug)]
struct Done {
    /// Why it failed, where no test says so.
    fault: Option<String>,
    job: Job,
    log: PathBuf,
    result: Closing,
    took: Duration,
}

impl std::fmt::Display for Done {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Closing { passed, failed, .. } = &self.result;
        let took = run::spoken(self.took);
        let title = &self.job.title;
        if self.is_fine() {
            return write!(f, "ok      {title}: {passed} passed, {took}");
        }
        let failed = failed.len();
        write!(
            f,
            "FAILED  {title}: {passed} passed, {failed} failed, {took}"
        )
    }
}

impl Done {
    const fn is_fine(&self) -> bool {
        self.fault.is_none() && self.result.failed.is_empty()
    }

    fn said(&self) -> String {
        let said = fs::read(&self.log).unwrap_or_default();
        String::from_utf8_lossy(&said).into_owned()
    }
}

/// Runs a job to its end, or to the limit.
fn perform(mut job: Job, logs: &Path) -> anyhow::Result<Done> {
    let log = logs.join(format!("{}.log", job.title.replace([' ', '/', ':'], "-")));
    let started = Instant::now();
    let status = captured(&mut job.command, &log, LIMIT)?;
    let said = fs::read(&log).with_context(|| format!("cannot read {}", log.display()))?;
    let said = String::from_utf8_lossy(&said);
    let result = Closing::read(&said);
    let fault = match status {
        None => Some(format!(
            "it did not end within {}: {}",
            run::spoken(LIMIT),
            hanging(&said)
        )),
        Some(status) if !status.success() && result.failed.is_empty() => {
            Some(format!("it ended with {status}"))
        }
        Some(_) if result.ignored > 0 => Some(format!("{} tests are ignored", result.ignored)),
        Some(_) => None,
    };
    if job.is_shown {
        print!("{said}");
    } else {
        for line in for_people(&said) {
            println!("        {line}");
        }
    }
    Ok(Done {
        fault,
        job,
        log,
        result,
        took: started.elapsed(),
    })
}

/// What the tests say for people, also where they pass.
fn for_people(said: &str) -> impl Iterator<Item = &str> {
    said.lines()
        .filter_map(|line| line.strip_prefix("for people: "))
}

/// Runs a command with its output in a file; `None` if it did not end within this time, and was killed.
pub(crate) fn captured(
    command: &mut Command,
    log: &Path,
    limit: Duration,
) -> anyhow::Result<Option<std::process::ExitStatus>> {
    let file = File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
    let errors = file.try_clone().context("cannot share the log")?;
    let mut child = command
        .stdout(file)
        .stderr(errors)
        .spawn()
        .with_context(|| format!("cannot start {}", command.get_program().display()))?;
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait().context("lost a test binary")? {
            return Ok(Some(status));
        }
        if started.elapsed() > limit {
            child.kill().context("cannot stop a test binary")?;
            child.wait().context("lost a test binary")?;
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// Says which tests failed, and what they said; runs those once more that may be flaky.
fn conclude(logs: &Path, ran: Vec<Done>, flaky: &Flaky) -> anyhow::Result<u32> {
    let mut passed: u32 = ran.iter().map(|done| done.result.passed).sum();
    let mut failed = Vec::new();
    for mut done in ran {
        if done.is_fine() {
            continue;
        }
        let said = done.said();
        if let Some(fault) = &done.fault {
            println!("\n==== {} ====\n{said}\n{fault}", done.job.title);
            failed.push(done.job.one.clone());
        }
        for name in std::mem::take(&mut done.result.failed) {
            let title = &done.job.title;
            println!("\n==== {title}: {name} ====\n{}", part(&said, &name));
            if flaky.allowed > 0
                && done
                    .job
                    .sources
                    .as_deref()
                    .is_some_and(|from| may_be_flaky(from, &name))
            {
                let log = logs.join("again.log");
                let status = captured(&mut alone(&done.job.command, &name), &log, LIMIT)?;
                let again = fs::read_to_string(&log).unwrap_or_default();
                println!("==== {title}: {name}, once more and alone ====\n{again}");
                let has_passed = status.is_some_and(|status| status.success())
                    && Closing::read(&again).passed == 1;
                if has_passed {
                    println!("flaky: {name}");
                    if flaky.add(name.clone()) {
                        passed += 1;
                        continue;
                    }
                    println!("more than {} tests were flaky", flaky.allowed);
                }
            }
            failed.push(format!("{} {name}", done.job.one));
        }
    }
    println!("\n{passed} passed, {} failed", failed.len());
    if !failed.is_empty() {
        bail!("tests failed; each alone:\n    {}", failed.join("\n    "));
    }
    Ok(passed)
}

/// The same command for one test.
fn alone(command: &Command, name: &str) -> Command {
    let mut alone = Command::new(command.get_program());
    alone.args(command.get_args());
    alone.args(["--exact", name, "--nocapture"]);
    alone.stdin(Stdio::null());
    if let Some(folder) = command.get_current_dir() {
        alone.current_dir(folder);
    }
    for (variable, value) in command.get_envs() {
        match value {
            Some(value) => alone.env(variable, value),
            None => alone.env_remove(variable),
        };
    }
    alone
}

/// What a failed test said.
fn part<'a>(said: &'a str, name: &str) -> &'a str {
    let heading = format!("---- {name} stdout ----\n");
    // A test whose output is not captured has it in the midst of the others'.
    let Some((_, rest)) = said.split_once(&heading) else {
        return said;
    };
    let ends = ["\n---- ", "\nfailures:\n"];
    let end = ends.iter().filter_map(|end| rest.find(end)).min();
    rest.get(..end.unwrap_or(rest.len())).unwrap_or(rest)
}

/// The tests that a binary which was stopped had complained about.
fn hanging(said: &str) -> String {
    let slow = said
        .lines()
        .filter_map(|line| line.strip_suffix(" has been running for over 60 seconds"))
        .filter_map(|line| line.strip_prefix("test "))
        .filter(|name| !said.contains(&format!("test {name} ...")));
    let slow: Vec<&str> = slow.collect();
    if slow.is_empty() {
        return "no test was slow".to_owned();
    }
    slow.join(", ")
}

/// What the closing lines of test binaries say.
#[derive(Debug, Default, Eq, PartialEq)]
pub(crate) struct Closing {
    pub(crate) passed: u32,
    /// By name.
    pub(crate) failed: Vec<String>,
    ignored: u32,
}

impl Closing {
    pub(crate) fn read(said: &str) -> Self {
        let mut closing = Self::default();
        let mut listed: Vec<String> = Vec::new();
        for line in said.lines() {
            if line == "failures:" {
                listed.clear();
            } else if let Some(name) = line.strip_prefix("    ") {
                listed.push(name.to_owned());
            } else if let Some(counts) = line.strip_prefix("test result: ") {
                let number = |what: &str| -> u32 {
                    let counts = counts.split(['.', ';']).map(str::trim);
                    let found = counts
                        .filter_map(|count| count.strip_suffix(what))
                        .find_map(|count| count.trim().parse().ok());
                    found.unwrap_or_default()
                };
                closing.passed += number("passed");
                closing.ignored += number("ignored");
                if number("failed") > 0 {
                    closing.failed.append(&mut listed);
                }
            }
        }
        closing
    }
}

/// The folder of what test binaries said.
pub(crate) const LOGS: &str = "target/tests";

/// How long one binary may take, on a machine that does other things too.
const LIMIT: Duration = Duration::from_secs(30 * 60);

/// How many binaries that wait run beside those that compute.
const WAITING_AT_ONCE: usize = 2;

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::{Closing, Job, for_people, hanging, part, run_all};
    use crate::testing::flaky::Flaky;

    const FAILED: &str = "running 3 tests\ntest a::b ... ok\ntest a::c ... FAILED\n\nfailures:\n\n\
        ---- a::c stdout ----\nthread panicked\n\nfailures:\n    a::c\n\n\
        test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n";

    fn job(title: &str, script: &str) -> Job {
        let mut command = Command::new("sh");
        command.args(["-c", script, "sh"]);
        Job {
            command,
            sources: None,
            one: "run".to_owned(),
            is_shown: false,
            title: title.to_owned(),
            waits: title.len() > 1,
        }
    }

    fn script(passed: u32, failed: &[&str]) -> String {
        let names: Vec<String> = failed.iter().map(|name| format!("    {name}\\n")).collect();
        let (count, names) = (failed.len(), names.concat());
        let exit = i32::from(count > 0);
        format!(
            "printf 'failures:\\n{names}\\ntest result: x. {passed} passed; {count} failed; 0 ignored\\n'; exit {exit}"
        )
    }

    #[test]
    fn closing_lines_are_added_up() {
        let two = format!("{FAILED}\ntest result: ok. 5 passed; 0 failed; 1 ignored; 0 measured\n");
        assert_eq!(
            Closing::read(&two),
            Closing {
                passed: 7,
                failed: vec!["a::c".to_owned()],
                ignored: 1
            }
        );
        assert_eq!(part(FAILED, "a::c"), "thread panicked\n");
    }

    #[test]
    fn a_stopped_binary_names_its_slow_tests() {
        let said = "test a has been running for over 60 seconds\ntest b has been running for over 60 seconds\ntest a ... ok\n";
        assert_eq!(hanging(said), "b");
    }

    #[test]
    fn lines_for_people_are_shown() {
        let said = "test a ... \nfor people: 3 of 4\nok\n";
        assert_eq!(for_people(said).collect::<Vec<_>>(), ["3 of 4"]);
    }

    #[test]
    fn failed_tests_are_named_with_the_command_that_runs_them() {
        let root = tempfile::tempdir().unwrap();
        let jobs = vec![
            job("a", &script(3, &[])),
            job("waits", &script(2, &["m::t"])),
        ];
        let error = run_all(root.path(), jobs, &Flaky::none()).unwrap_err();
        assert!(error.to_string().ends_with("\n    run m::t"), "{error}");
        let jobs = vec![job("a", &script(3, &[])), job("b", &script(4, &[]))];
        assert_eq!(run_all(root.path(), jobs, &Flaky::none()).unwrap(), 7);
    }

    #[test]
    fn a_binary_that_dies_or_ignores_a_test_fails() {
        let root = tempfile::tempdir().unwrap();
        for script in [
            "echo overflow; kill -ABRT $$",
            "echo 'test result: ok. 1 passed; 0 failed; 2 ignored'",
        ] {
            assert!(run_all(root.path(), vec![job("a", script)], &Flaky::none()).is_err());
        }
    }

    #[test]
    fn a_test_that_passes_alone_is_flaky_where_it_may_be() {
        let root = tempfile::tempdir().unwrap();
        let flaky = Flaky::at_most(2);
        // Alone, it has three arguments.
        let unsteady = |names: &[&str]| {
            let (first, again) = (script(1, names), script(1, &[]));
            format!("if [ $# -eq 3 ]; then {again}; fi; {first}")
        };
        std::fs::write(root.path().join("shows.rs"), "").unwrap();
        let run = |names: &[&str]| {
            let mut job = job("a", &unsteady(names));
            job.sources = Some(root.path().to_owned());
            run_all(root.path(), vec![job], &flaky)
        };
        assert_eq!(run(&["shows::a", "shows::b"]).unwrap(), 3);
        assert!(run(&["counts::a"]).is_err(), "it may not be flaky");
        assert_eq!(flaky.found(), ["shows::a", "shows::b"]);
        assert!(run(&["shows::c"]).is_err(), "one too many");
    }
}
