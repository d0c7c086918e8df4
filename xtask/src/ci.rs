//! `cargo xtask ci`: everything that has to pass, in order.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;

use crate::{
    book, contracts, deny, features, packages, postgres, readme, run, slices, survival, templates,
    test, tidy,
};

/// Runs every stage; the first that fails ends it.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let mut times: Vec<(&str, Duration)> = Vec::new();
    for stage in STAGES {
        println!("\n== {} ==", stage.name);
        let started = Instant::now();
        let outcome = (stage.run)(root);
        let took = started.elapsed();
        println!("== {}: {} ==", stage.name, run::spoken(took));
        outcome.with_context(|| format!("stage `{}` failed", stage.name))?;
        times.push((stage.name, took));
    }
    println!("\n== all stages passed ==");
    for (name, took) in &times {
        println!("{name:<12} {}", run::spoken(*took));
    }
    let total = times.iter().map(|(_, took)| *took).sum();
    println!("{:<12} {}", "together", run::spoken(total));
    Ok(())
}

struct Stage {
    name: &'static str,
    run: fn(&Path) -> anyhow::Result<()>,
}

const fn stage(name: &'static str, run: fn(&Path) -> anyhow::Result<()>) -> Stage {
    Stage { name, run }
}

/// What is done, in this order: the cheap before the dear.
const STAGES: &[Stage] = &[
    stage("tools", tools),
    stage("format", format),
    stage("tidy", tidy::run),
    stage("clippy", clippy),
    stage("features", features::small),
    stage("test", |root| test::run(root, &[])),
    stage("readme", readme::run),
    stage("contracts", |root| contracts::run(root, true)),
    stage("docs", docs),
    stage("book", book::run),
    stage("packages", |root| packages::run(root, false)),
    stage("templates", templates::check),
    stage("deny", deny::run),
    stage("postgres", postgres::run),
    stage("slices", slices::run),
    stage("survival", |root| survival::run(root, None)),
];

/// Tests that need more than Rust, or more time.
const FEATURES: &str = "jackfield-store-postgres/server,jackfield-store-sqlite/traced,jackfield-tests/page,jackfield-tests/postgres,jackfield-tests/real-servers,jackfield-tests/sdks,jackfield-tests/survival";

/// What the stages need beside Rust, and in which version.
const PROGRAMS: &[(&str, &str)] = &[
    ("git", "git"),
    ("node", "Node.js (20 or later)"),
    ("npm", "npm, the package manager of Node.js"),
    ("python3", "python3 (3.11 or later) with its venv module"),
];

/// Says what is missing before half an hour has gone by, and that `Cargo.lock` is current.
fn tools(root: &Path) -> anyhow::Result<()> {
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
    let mut clippy = run::cargo(root, ["clippy", "--workspace", "--all-targets"]);
    // What `cargo xtask test` leaves out is behind features.
    clippy.args(["--features", FEATURES]);
    run::succeed(clippy.args(["--", "--deny", "warnings"]))
}

fn docs(root: &Path) -> anyhow::Result<()> {
    let mut doc = run::cargo(root, ["doc", "--workspace", "--no-deps"]);
    doc.arg("--document-private-items")
        .env("RUSTDOCFLAGS", "--deny warnings");
    run::succeed(&mut doc)
}
