//! Test binaries, built without being run.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};
use cargo_metadata::Message;

use crate::run;

/// A built test binary, and the folder of its package, in which its tests run.
#[derive(Debug)]
pub(crate) struct TestBinary {
    pub(crate) folder: PathBuf,
    pub(crate) package: String,
    pub(crate) path: PathBuf,
    /// The name of its target: `it` for most.
    pub(crate) target: String,
}

impl TestBinary {
    /// Builds every test that needs nothing but Rust, the programs that these tests start, and the examples.
    pub(crate) fn build_all(root: &Path) -> anyhow::Result<Vec<Self>> {
        Self::built(root, run::cargo(root, ["test", "--workspace", "--no-run"]))
    }

    /// Builds the tests of these names, and the programs that they start. What `build_all` has built is not built again:
    /// the dependencies have the same features.
    pub(crate) fn build(root: &Path, targets: &[&str]) -> anyhow::Result<Vec<Self>> {
        let mut cargo = run::cargo(root, ["build", "--workspace"]);
        cargo.args(PROGRAMS);
        cargo.args(targets.iter().flat_map(|target| ["--test", target]));
        Self::built(root, cargo)
    }

    fn built(root: &Path, mut cargo: Command) -> anyhow::Result<Vec<Self>> {
        cargo.args(["--message-format", "json-render-diagnostics"]);
        let output = cargo.stderr(Stdio::inherit()).output();
        let output = output.context("cannot start cargo")?;
        if !output.status.success() {
            bail!("the tests do not build: {}", output.status);
        }
        Self::of_messages(root, &output.stdout)
    }

    /// The binaries that the messages of cargo name.
    pub(crate) fn of_messages(root: &Path, messages: &[u8]) -> anyhow::Result<Vec<Self>> {
        let mut binaries = Vec::new();
        for message in Message::parse_stream(messages) {
            if let Message::CompilerArtifact(artifact) =
                message.context("cargo's messages broke off")?
                && artifact.profile.test
                && let Some(path) = artifact.executable
            {
                let folder = artifact.manifest_path.parent();
                binaries.push(Self {
                    folder: folder.map_or_else(|| root.to_owned(), |f| f.as_std_path().to_owned()),
                    package: package_name(&artifact.package_id.repr).to_owned(),
                    path: path.into_std_path_buf(),
                    target: artifact.target.name,
                });
            }
        }
        Ok(binaries)
    }

    /// The `it` of this package.
    pub(crate) fn of_package<'a>(all: &'a [Self], package: &str) -> anyhow::Result<&'a Self> {
        all.iter()
            .find(|binary| binary.package == package && binary.target == "it")
            .with_context(|| format!("`{package}` has no test binary `it`"))
    }

    /// What runs it as cargo does.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command
            .current_dir(&self.folder)
            .env("CARGO_MANIFEST_DIR", &self.folder)
            .stdin(Stdio::null());
        command
    }
}

/// The name in a package's id: `path+file:///a/b#0.2.0` is of `b`, `path+file:///a/tests#c@0.2.0` of `c`.
fn package_name(id: &str) -> &str {
    let (place, version) = id.rsplit_once('#').unwrap_or((id, ""));
    match version.split_once('@') {
        Some((name, _)) => name,
        None => place.rsplit('/').next().unwrap_or(place),
    }
}

/// What tests start.
const PROGRAMS: [&str; 6] = [
    "--bin",
    "jackfield",
    "--bin",
    "scripted-*",
    "--example",
    "appender",
];

#[cfg(test)]
mod tests {
    use super::package_name;

    #[test]
    fn an_id_names_its_package() {
        assert_eq!(
            package_name("path+file:///a/crates/jackfield-cli#0.2.0"),
            "jackfield-cli"
        );
        assert_eq!(
            package_name("path+file:///a/tests#jackfield-tests@0.2.0"),
            "jackfield-tests"
        );
    }
}
