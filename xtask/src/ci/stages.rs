//! What is done in stages: `ci` and `nightly`.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};

use crate::run;
use crate::testing::flaky::Flaky;

/// A stage: its name, and what it does.
pub(crate) struct Stage {
    pub(crate) name: &'static str,
    run: fn(&Path, &Flaky) -> anyhow::Result<()>,
}

/// Names a stage.
pub(crate) const fn stage(
    name: &'static str,
    run: fn(&Path, &Flaky) -> anyhow::Result<()>,
) -> Stage {
    Stage { name, run }
}

/// Runs the stages of these names in order, or all of them; the first that fails ends it.
pub(crate) fn run_all(
    root: &Path,
    stages: &[Stage],
    asked: &[String],
    flaky: &Flaky,
) -> anyhow::Result<()> {
    if let Some(unknown) = asked.iter().find(|name| !has(stages, name)) {
        let names: Vec<&str> = stages.iter().map(|stage| stage.name).collect();
        bail!(
            "there is no stage `{unknown}`; there are {}",
            names.join(", ")
        );
    }
    let mut times: Vec<(&str, Duration)> = Vec::new();
    let is_asked = |stage: &&Stage| asked.is_empty() || asked.iter().any(|name| name == stage.name);
    for stage in stages.iter().filter(is_asked) {
        println!("\n== {} ==", stage.name);
        let started = Instant::now();
        let outcome = (stage.run)(root, flaky);
        let took = started.elapsed();
        println!("== {}: {} ==", stage.name, run::spoken(took));
        outcome.with_context(|| format!("stage `{}` failed", stage.name))?;
        times.push((stage.name, took));
    }
    println!("\n== all stages passed ==");
    for (name, took) in &times {
        println!("{name:<16} {}", run::spoken(*took));
    }
    let total = times.iter().map(|(_, took)| *took).sum();
    println!("{:<16} {}", "together", run::spoken(total));
    for name in flaky.found() {
        println!("flaky: {name}");
    }
    Ok(())
}

fn has(stages: &[Stage], name: &str) -> bool {
    stages.iter().any(|stage| stage.name == name)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Stage, run_all, stage};
    use crate::testing::flaky::Flaky;

    const STAGES: &[Stage] = &[
        stage("fine", |_, _| Ok(())),
        stage("broken", |_, _| anyhow::bail!("it is broken")),
    ];

    fn run(asked: &[&str]) -> Result<(), String> {
        let asked: Vec<String> = asked.iter().map(ToString::to_string).collect();
        let ran = run_all(Path::new("."), STAGES, &asked, &Flaky::none());
        ran.map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn a_stage_that_fails_ends_the_run() {
        assert_eq!(run(&[]).unwrap_err(), "stage `broken` failed: it is broken");
        assert_eq!(run(&["fine"]), Ok(()));
    }

    #[test]
    fn an_unknown_stage_is_an_error_that_lists_the_others() {
        let error = run(&["fine", "fin"]).unwrap_err();
        assert_eq!(error, "there is no stage `fin`; there are fine, broken");
    }
}
