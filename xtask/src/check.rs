//! `cargo xtask check`: the inner loop. Formatting, the house rules, and clippy and tests of what changed.

use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::workspace::Package;
use crate::{run, tidy, workspace};

/// Checks what differs from this revision, committed or not.
pub(crate) fn run(root: &Path, since: &str) -> anyhow::Result<()> {
    let started = Instant::now();
    run::succeed(&mut run::cargo(root, ["fmt", "--all", "--check"]))?;
    tidy::run(root)?;
    let packages = workspace::packages(root)?;
    let changed = of_files(&packages, &changed_files(root, since)?);
    if changed.is_empty() {
        println!("check: no crate differs from `{since}`");
    } else {
        println!("check: {}", changed.join(", "));
        let mut clippy = run::cargo(root, ["clippy", "--quiet", "--all-targets"]);
        clippy.args(named(&changed));
        run::succeed(clippy.args(["--", "--deny", "warnings"]))?;
        let tested: Vec<&str> = changed
            .iter()
            .copied()
            .filter(|name| !NOT_TESTED.contains(name))
            .collect();
        if !tested.is_empty() {
            let mut tests = run::cargo(root, ["test", "--quiet"]);
            run::succeed(tests.args(named(&tested)))?;
        }
    }
    println!("check: {}", run::spoken(started.elapsed()));
    Ok(())
}

/// The files that differ from where this branch left that revision, and those that git does not know yet.
fn changed_files(root: &Path, since: &str) -> anyhow::Result<Vec<PathBuf>> {
    let git = |args: &[&str]| run::output(&mut run::command("git", root, args));
    let base = git(&["merge-base", "HEAD", since])?;
    let mut files = git(&["diff", "--name-only", base.trim()])?;
    files.push_str(&git(&["ls-files", "--others", "--exclude-standard"])?);
    Ok(files.lines().map(PathBuf::from).collect())
}

/// The names of the packages that have any of these files.
fn of_files<'a>(packages: &'a [Package], files: &[PathBuf]) -> Vec<&'a str> {
    let has = |package: &&Package| files.iter().any(|file| file.starts_with(&package.folder));
    let inside = packages
        .iter()
        .filter(|package| !package.folder.as_os_str().is_empty());
    inside.filter(has).map(|package| &*package.name).collect()
}

fn named<'a>(packages: &[&'a str]) -> Vec<&'a str> {
    packages
        .iter()
        .flat_map(|name| ["--package", name])
        .collect()
}

/// What needs a built program, or measures: `cargo xtask test` and `bench` run them.
const NOT_TESTED: &[&str] = &["jackfield-benches", "jackfield-tests"];

#[cfg(test)]
mod tests {
    use super::of_files;
    use crate::workspace::Package;

    #[test]
    fn a_file_is_of_the_package_whose_folder_has_it() {
        let package = |name: &str, folder: &str| Package {
            name: name.to_owned(),
            folder: folder.into(),
            ..Package::default()
        };
        let packages = [
            package("jackfield-http", "crates/jackfield-http"),
            package("jackfield-http-more", "crates/jackfield-http-more"),
            package("root", ""),
        ];
        let of = |file: &str| of_files(&packages, &[file.into()]);
        assert_eq!(of("crates/jackfield-http/src/lib.rs"), ["jackfield-http"]);
        assert_eq!(of("crates/jackfield-http-more/a"), ["jackfield-http-more"]);
        assert!(of("docs/cli.md").is_empty());
    }
}
