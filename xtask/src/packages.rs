//! `cargo xtask packages`: every public crate as the package that a registry would get.

use std::path::Path;

use anyhow::bail;
use cargo_metadata::MetadataCommand;

use crate::{run, workspace};

/// Packs every public crate, and checks what a registry wants to know of it; on demand, that each compiles by itself.
pub(crate) fn run(root: &Path, alone: bool) -> anyhow::Result<()> {
    let metadata = MetadataCommand::new()
        .manifest_path(root.join("Cargo.toml"))
        .no_deps()
        .exec()?;
    let mut faults = Vec::new();
    let mut pack = run::cargo(root, ["package", "--quiet", "--allow-dirty"]);
    // Compiled from their packages, they would find the others in no registry before the first release.
    pack.arg("--no-verify");
    let mut count = 0;
    for package in &metadata.packages {
        // What is not published has an empty list of registries.
        if package.publish.as_ref().is_some_and(Vec::is_empty) {
            continue;
        }
        count += 1;
        pack.args(["--package", &package.name]);
        let lacks = [
            ("description", package.description.is_none()),
            ("keywords", package.keywords.is_empty()),
            ("categories", package.categories.is_empty()),
            ("license", package.license.is_none()),
            ("readme", package.readme.is_none()),
            ("rust-version", package.rust_version.is_none()),
        ];
        let lacks = lacks.iter().filter(|(_, lacks)| *lacks);
        faults.extend(lacks.map(|(key, _)| format!("{} has no `{key}`", package.name)));
        for dependency in &package.dependencies {
            let is_ours = dependency.path.is_some();
            let is_normal = dependency.kind == cargo_metadata::DependencyKind::Normal;
            if is_ours && is_normal && dependency.req != current(&package.version) {
                faults.push(format!(
                    "{} needs `{}` in the version `{}`: write that of the workspace, under [workspace.dependencies]",
                    package.name, dependency.name, dependency.req
                ));
            }
        }
    }
    if !faults.is_empty() {
        bail!("{}", faults.join("\n"));
    }
    run::succeed(&mut pack)?;
    println!("packages: {count} packed, in target/package");
    if alone {
        check_alone(root)?;
    }
    Ok(())
}

/// Compiles each crate by itself: in the whole workspace, a feature that one crate lacks may come from another one.
fn check_alone(root: &Path) -> anyhow::Result<()> {
    for package in workspace::packages(root)? {
        println!("checking {}", package.name);
        let mut check = run::cargo(root, ["check", "--quiet", "--package", &package.name]);
        run::succeed(&mut check)?;
    }
    Ok(())
}

/// What a dependency on a crate of this version requires.
fn current(version: &cargo_metadata::semver::Version) -> cargo_metadata::semver::VersionReq {
    let comparator = cargo_metadata::semver::Comparator {
        op: cargo_metadata::semver::Op::Caret,
        major: version.major,
        minor: Some(version.minor),
        patch: Some(version.patch),
        pre: version.pre.clone(),
    };
    cargo_metadata::semver::VersionReq {
        comparators: vec![comparator],
    }
}

#[cfg(test)]
mod tests {
    use cargo_metadata::semver::{Version, VersionReq};

    use super::current;

    #[test]
    fn a_version_is_required_as_cargo_reads_it() {
        for version in ["0.2.0-dev", "1.4.2"] {
            let required = current(&Version::parse(version).unwrap());
            assert_eq!(required, VersionReq::parse(version).unwrap());
        }
    }
}
