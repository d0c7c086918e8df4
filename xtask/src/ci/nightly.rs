//! `cargo xtask nightly`: what is too rare or too long to hold up a change.

use std::path::Path;

use crate::ci::stages::{Stage, run_all, stage};
use crate::testing::flaky::Flaky;
use crate::testing::suite::Suite;
use crate::{
    book, ci, deny, explore, external_types, features, minimal_versions, mutants, packages, readme,
    soak, survival, templates, testing,
};

/// Runs every stage, or those of these names; the first that fails ends it.
pub(crate) fn run(root: &Path, asked: &[String]) -> anyhow::Result<()> {
    run_all(root, STAGES, asked, &Flaky::none())
}

/// The cheap before the dear.
const STAGES: &[Stage] = &[
    stage("tools", |root, _| ci::tools(root)),
    stage("advisories", |root, _| deny::advisories(root)),
    stage("readme", |root, _| readme::run(root)),
    stage("features", |root, _| features::run(root)),
    stage("docs", |root, _| ci::docs(root)),
    stage("book", |root, _| book::run(root)),
    stage("packages", |root, _| packages::run(root, false)),
    stage("templates", |root, _| templates::check(root)),
    stage("external-types", |root, _| external_types::run(root)),
    stage("minimal-versions", |root, _| minimal_versions::run(root)),
    stage("properties", |root, _| testing::with_more_cases(root)),
    stage("real-servers", |root, flaky| {
        Suite::Real.run(root, &[], flaky)
    }),
    stage("survival", |root, _| survival::random(root)),
    stage("soak", |root, _| soak::run(root, 5)),
    stage("explore", |root, _| explore::run(root, None, 10)),
    stage("mutants", |root, _| mutants::run(root, None)),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::STAGES;

    const WORKFLOW: &str = include_str!("../../../.github/workflows/nightly.yml");

    #[test]
    fn the_workflow_runs_every_stage() {
        let (_, matrix) = WORKFLOW.split_once("stages:\n").unwrap();
        let lines = matrix.lines().map(str::trim);
        let parts = lines.map_while(|line| line.strip_prefix("- "));
        let run: BTreeSet<&str> = parts.flat_map(str::split_whitespace).collect();
        assert_eq!(run, STAGES.iter().map(|stage| stage.name).collect());
    }
}
