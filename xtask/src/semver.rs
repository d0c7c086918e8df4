//! `cargo xtask semver`: what no longer compiles for those who use the public crates of an earlier release.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, bail};
use cargo_metadata::semver::{Version, VersionReq};

use crate::{run, rustdoc, tools, workspace};

/// Compares every public crate that the earlier revision has, too.
pub(crate) fn run(root: &Path, baseline: Option<&str>) -> anyhow::Result<()> {
    let revision = match baseline {
        Some(revision) => revision.to_owned(),
        None => last_tag(root)?,
    };
    let program = tools::CARGO_SEMVER_CHECKS.program(root)?;
    let place = root.join("target/semver");
    let earlier = place.join("tree");
    unpack(root, &revision, &place)?;
    let old = rustdoc::describe(&earlier, &place.join("build"))?;
    let new = rustdoc::describe(root, &workspace::target(root)?)?;
    let present = public(root)?;
    let mut broken = Vec::new();
    for package in public(&earlier)? {
        let file = rustdoc::file(&package);
        if !present.contains(&package) {
            println!("{package}: there is no such crate any more");
            broken.push(package);
            continue;
        }
        let mut check = run::command(&program, root, ["semver-checks", "--release-type", "minor"]);
        check.arg("--baseline-rustdoc").arg(old.join(&file));
        check.arg("--current-rustdoc").arg(new.join(&file));
        let output = check.output().context("cannot start cargo-semver-checks")?;
        let said =
            String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        match output.status.code() {
            Some(0) => {}
            Some(FOUND) => {
                println!("{package}:\n{said}");
                broken.push(package);
            }
            _ => bail!("cargo-semver-checks fails at {package}:\n{said}"),
        }
    }
    let (from, to) = (
        workspace::version(&earlier)?.parse()?,
        workspace::version(root)?.parse()?,
    );
    if broken.is_empty() {
        println!(
            "semver: what compiled with {revision} ({from}) still compiles, as far as the checks know"
        );
        return Ok(());
    }
    let names = broken.join(", ");
    if may_break(&from, &to) {
        println!(
            "semver: {to} may break users of {from}, and does in {names}: the changelog has to name each change"
        );
        return Ok(());
    }
    bail!("{to} breaks users of {from} in {names}: take it back, or raise the version")
}

/// The names of the public crates.
fn public(tree: &Path) -> anyhow::Result<Vec<String>> {
    let packages = workspace::packages(tree)?.into_iter();
    let public = packages.filter(|package| package.public);
    Ok(public.map(|package| package.name).collect())
}

/// The newest tag of a release in the history.
fn last_tag(root: &Path) -> anyhow::Result<String> {
    let args = ["describe", "--tags", "--abbrev=0", "--match", "v*"];
    let said = run::output(&mut run::command("git", root, args))
        .context("there is no tag `v*` to compare with: name a revision with --baseline")?;
    Ok(said.trim().to_owned())
}

/// Puts the files of a revision into the folder `tree` of `place`.
pub(crate) fn unpack(root: &Path, revision: &str, place: &Path) -> anyhow::Result<()> {
    let tree = place.join("tree");
    if tree.exists() {
        fs::remove_dir_all(&tree).with_context(|| format!("cannot empty {}", tree.display()))?;
    }
    fs::create_dir_all(&tree).with_context(|| format!("cannot make {}", tree.display()))?;
    let archive = place.join("tree.tar");
    let mut pack = run::command("git", root, ["archive", "--format=tar", "--output"]);
    run::succeed(pack.arg(&archive).arg(revision))?;
    let mut unpack = run::command("tar", &tree, ["--extract", "--file"]);
    run::succeed(unpack.arg(&archive))?;
    Ok(fs::remove_file(&archive)?)
}

/// Whether users of the one version have to expect that the other breaks them. Of a version in development, they do.
fn may_break(from: &Version, to: &Version) -> bool {
    let promised = VersionReq::parse(&from.to_string());
    // A requirement never matches a version in development.
    let to = Version::new(to.major, to.minor, to.patch);
    !from.pre.is_empty() || !promised.is_ok_and(|promised| promised.matches(&to))
}

/// How the tool ends when something breaks.
const FOUND: i32 = 100;

#[cfg(test)]
mod tests {
    use super::may_break;

    #[test]
    fn only_a_patch_promises_that_all_compiles_before_one() {
        let check = |from: &str, to: &str, expected| {
            assert_eq!(
                may_break(&from.parse().unwrap(), &to.parse().unwrap()),
                expected,
                "{from} {to}"
            );
        };
        check("0.1.0", "0.2.0", true);
        check("0.1.0", "0.2.0-dev", true);
        check("0.2.0", "0.2.1", false);
        check("0.2.0", "0.2.1-dev", false);
        check("0.2.0-dev", "0.2.0-dev", true);
        check("1.0.0", "1.4.0", false);
        check("1.0.0", "2.0.0", true);
    }
}
