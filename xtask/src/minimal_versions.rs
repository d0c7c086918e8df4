//! `cargo xtask minimal-versions`: whether the public crates compile with the lowest versions that their manifests admit.

use std::path::Path;

use anyhow::Context as _;

use crate::mutants::copy;
use crate::{run, workspace};

/// Resolves a copy of the workspace with the lowest version of every direct dependency, and compiles the public crates.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let place = root.join("target/minimal-versions");
    let tree = place.join("tree");
    let mut files = copy::files(root)?;
    files.retain(|file| file != Path::new("Cargo.lock"));
    copy::Copy::update(root, &tree, &files)?;
    let mut resolve = run::cargo(
        &tree,
        ["generate-lockfile", "-Z", "direct-minimal-versions"],
    );
    // For an option of cargo that chooses versions; the compiler stays stable.
    resolve.env("RUSTC_BOOTSTRAP", "1");
    run::succeed(&mut resolve)
        .context("another dependency needs more: raise the requirement in Cargo.toml")?;
    let mut check = run::cargo(
        &tree,
        ["check", "--locked", "--all-features", "--keep-going"],
    );
    check.env("CARGO_TARGET_DIR", place.join("build"));
    let packages = workspace::packages(root)?;
    for package in packages.iter().filter(|package| package.public) {
        check.args(["--package", &package.name]);
    }
    run::succeed(&mut check)
        .context("raise the requirement of what it lacks in Cargo.toml, to a version that has it")
}
