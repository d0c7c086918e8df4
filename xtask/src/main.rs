//! `cargo xtask`: the automation of this workspace, one verb per file.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command line tool speaks through its output"
)]

mod apt;
mod args;
mod bench;
mod book;
mod check;
mod ci;
mod contracts;
mod deny;
mod dist;
mod explore;
mod external_types;
mod features;
mod fixture;
mod minimal_versions;
mod mutants;
mod packages;
mod postgres;
mod readme;
mod run;
mod rustdoc;
mod semver;
mod size;
mod slices;
mod soak;
mod survival;
mod templates;
mod testing;
mod tidy;
mod tools;
mod workspace;

use std::process::ExitCode;

use clap::Parser as _;

use crate::args::{Args, Verb};
use crate::testing::flaky::Flaky;
use crate::testing::suite::Suite;

fn main() -> ExitCode {
    match perform(Args::parse().verb) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn perform(verb: Verb) -> anyhow::Result<()> {
    let root = workspace::root()?;
    match verb {
        Verb::Bench(bench) => bench::run(&root, &bench.args),
        Verb::Book => book::run(&root),
        Verb::Check(check) => check::run(&root, &check.since),
        Verb::Ci(asked) => ci::run(&root, &asked.stages),
        Verb::Conformance => slices::conformance::run(&root),
        Verb::Contracts(contracts) => contracts::run(&root, contracts.mutants),
        Verb::Dist(dist) => dist::run(&root, &dist),
        Verb::Explore(explore) => explore::run(&root, explore.seed, explore.times),
        Verb::ExternalTypes => external_types::run(&root),
        Verb::Features => features::run(&root),
        Verb::Fixture => fixture::run(&root),
        Verb::MinimalVersions => minimal_versions::run(&root),
        Verb::Mutants(mutants) => mutants::run(&root, mutants.only.as_deref()),
        Verb::NewProvider(new) => templates::run(&root, &templates::PROVIDER, &new),
        Verb::NewToolbox(new) => templates::run(&root, &templates::TOOLBOX, &new),
        Verb::Nightly(asked) => ci::nightly::run(&root, &asked.stages),
        Verb::Packages(packages) => packages::run(&root, packages.alone),
        Verb::Postgres => Suite::Postgres.run(&root, &[], &Flaky::none()),
        Verb::Prices(prices) => dist::prices::run(&root, &prices),
        Verb::Semver(semver) => semver::run(&root, semver.baseline.as_deref()),
        Verb::SignIn => Suite::Real.run(&root, &["sign_in::"], &Flaky::none()),
        Verb::Size(size) => size::run(&root, &size),
        Verb::Slices => slices::run(&root),
        Verb::Soak(soak) => soak::run(&root, soak.minutes),
        Verb::Stress(asked) => testing::stress::run(&root, &asked),
        Verb::Survival(told) => survival::run(&root, told.load),
        Verb::Templates => templates::check(&root),
        Verb::Test(test) => testing::run(&root, &test.args),
        Verb::Tidy => tidy::run(&root),
    }
}
