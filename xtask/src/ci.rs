//! `cargo xtask ci`: what has to pass before a change lands, in order.

pub(crate) mod nightly;
mod stages;

use std::path::Path;

use anyhow::Context as _;
use clap::ValueEnum as _;

use self::stages::{Stage, run_all, stage};
use crate::testing::flaky::Flaky;
use crate::testing::suite::Suite;
use crate::{contracts, deny, readme, run, slices, survival, testing, tidy};

/// Runs every stage, or those of these names; the first that fails ends it.
pub(crate) fn run(root: &Path, asked: &[String]) -> anyhow::Result<()> {
    run_all(root, STAGES, asked, &Flaky::at_most(2))
}

/// What is done, in this order: the cheap before the dear. `contracts` and `wire` judge what `test` has written.
const STAGES: &[Stage] = &[
    stage("tools", |root, _| tools(root)),
    stage("format", |root, _| format(root)),
    stage("tidy", |root, _| tidy::run(root)),
    stage("clippy", |root, _| clippy(root)),
    stage("test", testing::for_ci),
    stage("demo", |root, _| readme::demo(root)),
    stage("contracts", |root, _| contracts::judge(root)),
    stage("deny", |root, _| deny::run(root)),
    stage("wire", |root, _| slices::judge(root)),
    stage("conformance", |root, _| slices::conformance::run(root)),
    stage("sdks", |root, flaky| Suite::Sdks.run(root, &[], flaky)),
    stage("page", |root, flaky| Suite::Page.run(root, &[], flaky)),
    stage("postgres", |root, flaky| {
        Suite::Postgres.run(root, &[], flaky)
    }),
    stage("survival", |root, _| survival::named(root)),
];

/// What the stages need beside Rust, and in which version.
const PROGRAMS: &[(&str, &str)] = &[
    ("curl", "curl"),
    ("git", "git"),
    ("node", "Node.js (20 or later)"),
    ("npm", "npm, the package manager of Node.js"),
    ("python3", "python3 (3.11 or later) with its venv module"),
];

/// Says what is missing before half an hour has gone by, and that `Cargo.lock` is current.
pub(crate) fn tools(root: &Path) -> anyhow::Result<()> {
    for component in ["fmt", "clippy"] {
        run::output(&mut run::cargo(root, [component, "--version"]))
            .context("install the components with `rustup component add rustfmt clippy`")?;
    }
    for (program, advice) in PROGRAMS {
        run::output(&mut run::command(program, root, ["--version"]))
            .with_context(|| format!("install {advice}"))?;
    }
    slices::chromium(root)?;
    let mut locked = run::cargo(root, ["metadata", "--format-version", "1", "--locked"]);
    run::output(&mut locked).context("Cargo.lock does not fit the manifests: commit it")?;
    Ok(())
}

fn format(root: &Path) -> anyhow::Result<()> {
    run::succeed(&mut run::cargo(root, ["fmt", "--all", "--check"]))
}

fn clippy(root: &Path) -> anyhow::Result<()> {
    let lint = |targets: &mut dyn Iterator<Item = &str>| {
        let mut clippy = run::cargo(root, ["clippy", "--workspace"]);
        clippy.args(targets);
        run::succeed(clippy.args(["--", "--deny", "warnings"]))
    };
    lint(&mut ["--all-targets"].into_iter())?;
    // Those that need more than Rust have to be named.
    let suites = Suite::value_variants().iter();
    let named = suites
        .filter(|suite| **suite != Suite::It)
        .flat_map(|suite| suite.targets());
    lint(&mut named.flat_map(|target| ["--test", target]))
}

/// The documentation of all crates, without a warning.
pub(crate) fn docs(root: &Path) -> anyhow::Result<()> {
    let mut doc = run::cargo(root, ["doc", "--workspace", "--no-deps"]);
    doc.arg("--document-private-items")
        .env("RUSTDOCFLAGS", "--deny warnings");
    run::succeed(&mut doc)
}
