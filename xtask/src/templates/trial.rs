//! A trial of the templates: a new workspace compiles, and its contract shows what is left to do.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, bail};

use super::{PROVIDER, TOOLBOX, Template};
use crate::{run, workspace};

/// Tries every template below the target folder, with what is built there.
pub(crate) fn check(root: &Path) -> anyhow::Result<()> {
    for template in [&PROVIDER, &TOOLBOX] {
        let started = Instant::now();
        template.check(root)?;
        let (kind, took) = (template.kind, run::spoken(started.elapsed()));
        println!("template `{kind}`: {} to do, {took}", template.to_do.len());
    }
    let started = Instant::now();
    check_example(root)?;
    let took = run::spoken(started.elapsed());
    println!("template `provider` with the guide's code: nothing to do, {took}");
    Ok(())
}

/// Puts the example from which the guide quotes into a new workspace, file by file; then its contract holds.
fn check_example(root: &Path) -> anyhow::Result<()> {
    let folder = emptied(root, EXAMPLE)?;
    PROVIDER.write(root, &EXAMPLE.parse()?, &folder)?;
    let package = format!("provider-{EXAMPLE}");
    let from = root.join("examples").join(&package);
    for (file, place) in FILES {
        let path = from.join(file);
        let text =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        // The factory of a new workspace stands in the crate of its command.
        let lines = text.lines().filter(|line| !line.contains("factory"));
        let lines = lines.map(|line| line.replace(EXAMPLE_CRATE, "provider_acme") + "\n");
        let place = folder.join(&package).join(place);
        fs::write(&place, lines.collect::<String>())
            .with_context(|| format!("cannot write {}", place.display()))?;
    }
    let mut test = run::cargo(
        &folder,
        ["test", "--offline", "--quiet", "--package", &package],
    );
    test.env("CARGO_TARGET_DIR", workspace::target(root)?);
    run::succeed(&mut test)
}

/// An empty place for a workspace below the target folder.
fn emptied(root: &Path, name: &str) -> anyhow::Result<PathBuf> {
    let folder = workspace::target(root)?.join("templates").join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder)
            .with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    Ok(folder)
}

impl Template {
    fn check(&self, root: &Path) -> anyhow::Result<()> {
        let target = workspace::target(root)?;
        let templates = target.join("templates");
        fs::create_dir_all(&templates)
            .with_context(|| format!("cannot make {}", templates.display()))?;
        let folder = templates.join(self.kind);
        if folder.exists() {
            fs::remove_dir_all(&folder)
                .with_context(|| format!("cannot empty {}", folder.display()))?;
        }
        self.write(root, &NAME.parse()?, &folder)?;
        let cargo = |verb| {
            let mut cargo = run::cargo(&folder, [verb, "--offline"]);
            cargo.env("CARGO_TARGET_DIR", &target);
            cargo
        };
        let program = format!("{NAME}-jackfield");
        run::succeed(cargo("check").args(["--package", &program]))?;
        run::succeed(cargo("test").arg("--no-run"))?;
        let tests = cargo("test").output().context("cannot start cargo")?;
        let tests = String::from_utf8_lossy(&tests.stdout);
        match unlike(self.to_do, &tests) {
            None => Ok(()),
            Some(unlike) => bail!("the contract of the template `{}`: {unlike}", self.kind),
        }
    }
}

/// How the failures of a run differ from what is to do; `None` if they do not.
fn unlike(to_do: &[&str], tests: &str) -> Option<String> {
    let failure = |line| {
        let line: &str = line;
        line.strip_prefix("test ")?.strip_suffix(" ... FAILED")
    };
    let failed: BTreeSet<&str> = tests.lines().filter_map(failure).collect();
    let to_do: BTreeSet<&str> = to_do.iter().copied().collect();
    let kept: Vec<_> = to_do.difference(&failed).copied().collect();
    let broken: Vec<_> = failed.difference(&to_do).copied().collect();
    if kept.is_empty() && broken.is_empty() {
        return None;
    }
    Some(format!(
        "to do, and not failed: [{}]; failed, and not to do: [{}]",
        kept.join(", "),
        broken.join(", ")
    ))
}

/// With a hyphen, which is none in an identifier.
const NAME: &str = "blue-brook";
/// The vendor of the example.
const EXAMPLE: &str = "acme";
/// The crate of the example; a new workspace has `provider_acme`.
const EXAMPLE_CRATE: &str = "jackfield_provider_acme";
/// The files of the example, each with its place in a new workspace.
const FILES: &[(&str, &str)] = &[
    ("src/client.rs", "src/client.rs"),
    ("src/error.rs", "src/error.rs"),
    ("src/lib.rs", "src/lib.rs"),
    ("src/reply.rs", "src/reply.rs"),
    ("src/request.rs", "src/request.rs"),
    ("src/wire.rs", "src/wire.rs"),
    ("tests/it/harness.rs", "tests/contract/harness.rs"),
];

#[cfg(test)]
mod tests {
    use super::unlike;

    #[test]
    fn a_run_shows_exactly_what_is_to_do() {
        let tests = "running 3 tests\ntest a ... FAILED\ntest b ... ok\ntest c ... FAILED\n";
        assert_eq!(unlike(&["a", "c"], tests), None);
        let unlike = |to_do| unlike(to_do, tests).unwrap_or_default();
        assert!(unlike(&["a"]).ends_with("failed, and not to do: [c]"));
        assert!(unlike(&["a", "b", "c"]).starts_with("to do, and not failed: [b]"));
    }
}
