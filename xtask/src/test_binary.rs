//! The `it` tests of packages, built without being run.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};
use cargo_metadata::Message;

use crate::run;

/// A built `it` binary, and the folder of its package, in which its tests run.
#[derive(Debug)]
pub(crate) struct TestBinary {
    pub(crate) folder: PathBuf,
    pub(crate) path: PathBuf,
}

impl TestBinary {
    /// Builds every `it` test of the workspace, and the programs that these tests start. After `cargo xtask test`
    /// nothing is left to build: the dependencies have the same features.
    pub(crate) fn build_all(root: &Path) -> anyhow::Result<Vec<Self>> {
        let mut cargo = run::cargo(root, ["test", "--workspace", "--test", "it", "--no-run"]);
        cargo.args(["--quiet", "--message-format", "json-render-diagnostics"]);
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
                && artifact.target.is_test()
                && let Some(path) = artifact.executable
            {
                let folder = artifact.manifest_path.parent();
                binaries.push(Self {
                    folder: folder.map_or_else(|| root.to_owned(), |f| f.as_std_path().to_owned()),
                    path: path.into_std_path_buf(),
                });
            }
        }
        Ok(binaries)
    }

    /// The one of this package. Each package stands in a folder of its own name.
    pub(crate) fn of_package<'a>(all: &'a [Self], package: &str) -> anyhow::Result<&'a Self> {
        all.iter()
            .find(|binary| binary.folder.ends_with(package))
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
