//! A trial of the templates: a new workspace compiles, and its contract shows what is left to do.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
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
    Ok(())
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
