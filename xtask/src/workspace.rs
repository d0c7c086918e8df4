//! Where the workspace is, and what is in it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, TargetKind};

/// Returns the folder of the workspace.
pub(crate) fn root() -> anyhow::Result<PathBuf> {
    // Cargo sets the variable when it runs us; the compiled-in folder serves a binary started by hand.
    let own = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    match own.parent() {
        Some(root) if root.join("Cargo.toml").is_file() => Ok(root.to_owned()),
        _ => bail!("{} is in no workspace", own.display()),
    }
}

/// The folder that cargo builds in.
pub(crate) fn target(root: &Path) -> anyhow::Result<PathBuf> {
    Ok(metadata(root)?.target_directory.into_std_path_buf())
}

/// What cargo knows of the workspace's own packages.
fn metadata(root: &Path) -> anyhow::Result<Metadata> {
    let mut command = MetadataCommand::new();
    let command = command.manifest_path(root.join("Cargo.toml")).no_deps();
    let read = command.exec();
    read.context("cannot read the workspace's metadata")
}

/// The version of the crates.
pub(crate) fn version(root: &Path) -> anyhow::Result<String> {
    let text = fs::read_to_string(root.join("Cargo.toml"))?;
    let manifest: toml::Table = text.parse().context("Cargo.toml is no TOML")?;
    let version = manifest
        .get("workspace")
        .and_then(|workspace| workspace.get("package")?.get("version")?.as_str());
    Ok(version.context("the workspace has no version")?.to_owned())
}

/// A package of ours, as far as the rules ask.
#[derive(Clone, Debug, Default)]
pub(crate) struct Package {
    pub(crate) name: String,
    /// From the root; empty for none.
    pub(crate) folder: PathBuf,
    /// Whether a registry may get it.
    pub(crate) public: bool,
    /// The text of its `Cargo.toml`.
    pub(crate) manifest: String,
    pub(crate) dependencies: Vec<Dependency>,
    /// Its features, but `default`.
    pub(crate) features: Vec<String>,
    /// Whether it has a library.
    pub(crate) library: bool,
    /// The names of its programs.
    pub(crate) programs: Vec<String>,
    /// The integration test binaries: name and main file from the root.
    pub(crate) tests: Vec<(String, PathBuf)>,
}

impl Package {
    /// The path of its `Cargo.toml` from the root.
    pub(crate) fn manifest_path(&self) -> PathBuf {
        self.folder.join("Cargo.toml")
    }

    /// Whether its manifest names this package.
    pub(crate) fn uses(&self, name: &str) -> bool {
        let mut dependencies = self.dependencies.iter();
        dependencies.any(|dependency| dependency.name == name)
    }

    /// The line of the manifest that sets this key, or the first.
    pub(crate) fn manifest_line(&self, key: &str) -> usize {
        let sets = |line: &str| {
            let after = line.trim_start().strip_prefix(key)?;
            after.starts_with([' ', '.', '=', ']']).then_some(())
        };
        let found = self.manifest.lines().position(|line| sets(line).is_some());
        found.map_or(1, |index| index + 1)
    }
}

/// A dependency as a manifest declares it.
#[derive(Clone, Debug)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// Whether it is for tests only.
    pub(crate) dev: bool,
    /// `*` where the manifest names no version.
    pub(crate) requirement: String,
    /// Whether it is a package of this workspace.
    pub(crate) ours: bool,
}

/// Reads the packages of the workspace, by name.
pub(crate) fn packages(root: &Path) -> anyhow::Result<Vec<Package>> {
    let mut packages = Vec::new();
    for package in &metadata(root)?.packages {
        let manifest_path = package.manifest_path.as_std_path();
        let folder = manifest_path
            .parent()
            .with_context(|| format!("{} has no folder", manifest_path.display()))?;
        packages.push(Package {
            name: package.name.to_string(),
            folder: from_root(root, folder)?,
            // What is not published has an empty list of registries.
            public: !package.publish.as_ref().is_some_and(Vec::is_empty),
            manifest: read(manifest_path)?,
            dependencies: package
                .dependencies
                .iter()
                .map(|dependency| Dependency {
                    name: dependency.name.clone(),
                    dev: dependency.kind == DependencyKind::Development,
                    requirement: dependency.req.to_string(),
                    ours: dependency.path.is_some(),
                })
                .collect(),
            features: package
                .features
                .keys()
                .filter(|name| *name != "default")
                .cloned()
                .collect(),
            library: package
                .targets
                .iter()
                .any(|target| target.kind.contains(&TargetKind::Lib)),
            programs: package
                .targets
                .iter()
                .filter(|target| target.kind.contains(&TargetKind::Bin))
                .map(|target| target.name.clone())
                .collect(),
            tests: package
                .targets
                .iter()
                .filter(|target| target.kind.contains(&TargetKind::Test))
                .map(|target| {
                    Ok((
                        target.name.clone(),
                        from_root(root, target.src_path.as_std_path())?,
                    ))
                })
                .collect::<anyhow::Result<_>>()?,
        });
    }
    packages.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(packages)
}

/// A text file of the workspace.
#[derive(Clone, Debug)]
pub(crate) struct TextFile {
    /// From the root.
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

impl TextFile {
    /// Whether its name ends so.
    pub(crate) fn is(&self, extension: &str) -> bool {
        self.path
            .extension()
            .is_some_and(|found| found == extension)
    }
}

/// Reads every file that people write, in order.
pub(crate) fn text_files(root: &Path) -> anyhow::Result<Vec<TextFile>> {
    let mut files = Vec::new();
    collect(root, root, &mut files)?;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn collect(root: &Path, folder: &Path, files: &mut Vec<TextFile>) -> anyhow::Result<()> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            if !SKIPPED.contains(&name.as_ref()) {
                collect(root, &path, files)?;
            }
            continue;
        }
        let extension = path.extension().unwrap_or_default().to_string_lossy();
        if TEXT.contains(&extension.as_ref()) {
            files.push(TextFile {
                path: from_root(root, &path)?,
                text: read(&path)?,
            });
        }
    }
    Ok(())
}

fn read(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

fn from_root(root: &Path, path: &Path) -> anyhow::Result<PathBuf> {
    path.strip_prefix(root)
        .map(Path::to_owned)
        .with_context(|| format!("{} is outside the workspace", path.display()))
}

/// Folders that hold nothing that people write.
const SKIPPED: &[&str] = &[".git", "__pycache__", "node_modules", "target"];

/// What text that people write is called.
const TEXT: &[&str] = &["json", "md", "py", "rs", "sh", "toml", "yml"];
