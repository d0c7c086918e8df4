//! What is installed for the slices: below `target/slices`, once for each list of what is wanted.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use sha2::{Digest as _, Sha256};

use crate::{apt, run};

/// Makes the Python environment of these requirements unless it is there; returns its folder.
pub(super) fn python(root: &Path, requirements: &str) -> anyhow::Result<PathBuf> {
    let requirements = root.join(requirements);
    let wanted = read(&requirements)?;
    let venv = root.join("target/slices").join(name("venv", &[&wanted]));
    once(&venv, || {
        let mut make = run::command("python3", root, ["-m", "venv", "--clear"]);
        run::succeed(make.arg(&venv)).context(
            "a Python environment is needed: install python3 (3.11 or later) with its venv module",
        )?;
        let python = venv.join("bin/python");
        // The file names everything, so nothing is resolved.
        let mut install = run::command(&python, root, ["-m", "pip", "install", "--no-deps"]);
        install.args(["--quiet", "--disable-pip-version-check", "--requirement"]);
        run::succeed(install.arg(&requirements))?;
        let mut check = run::command(&python, root, ["-m", "pip", "check"]);
        run::output(check.arg("--disable-pip-version-check")).with_context(|| {
            let file = requirements.display();
            format!("{file} names not all, or versions that do not fit")
        })?;
        Ok(())
    })?;
    Ok(venv)
}

/// Installs what this folder's `package.json` and lock file name unless it is there; returns the
/// folder that has its `node_modules`.
pub(super) fn node(root: &Path, folder: &str) -> anyhow::Result<PathBuf> {
    let files = ["package.json", "package-lock.json"];
    let [manifest, lock] = files.map(|file| root.join(folder).join(file));
    let (manifest, lock) = (read(&manifest)?, read(&lock)?);
    let modules = root
        .join("target/slices")
        .join(name("node", &[&manifest, &lock]));
    once(&modules, || {
        if modules.exists() {
            fs::remove_dir_all(&modules)
                .with_context(|| format!("cannot empty {}", modules.display()))?;
        }
        fs::create_dir_all(&modules)
            .with_context(|| format!("cannot make {}", modules.display()))?;
        for (file, text) in files.iter().zip([&manifest, &lock]) {
            fs::write(modules.join(file), text)
                .with_context(|| format!("cannot write {file} below {}", modules.display()))?;
        }
        // No scripts: nothing of what is installed runs before the slices run it.
        let arguments = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"];
        let mut install = run::command("npm", &modules, arguments);
        run::output(&mut install).context("install Node.js (20 or later) with npm")?;
        Ok(())
    })?;
    Ok(modules)
}

/// Returns the program of Chromium: the one that `JACKFIELD_PAGE_CHROMIUM` names, or the one of the path. Where there is
/// none, it is installed with apt, which needs a system like Debian and root.
pub(crate) fn chromium(root: &Path) -> anyhow::Result<PathBuf> {
    if let Some(named) = std::env::var_os("JACKFIELD_PAGE_CHROMIUM") {
        return Ok(named.into());
    }
    if let Some(found) = on_path("chromium") {
        return Ok(found);
    }
    eprintln!("installing Chromium");
    let advice = "install Chromium (on Debian: `apt-get install chromium`), or name it in \
                  JACKFIELD_PAGE_CHROMIUM";
    apt::install(root, "chromium").context(advice)?;
    on_path("chromium").context(advice)
}

fn on_path(program: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    let mut places = std::env::split_paths(&folders).map(|folder| folder.join(program));
    places.find(|place| place.is_file())
}

/// Makes this folder unless it was made, wholly, before.
fn once(folder: &Path, make: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<()> {
    let complete = folder.join("complete");
    if complete.exists() {
        return Ok(());
    }
    eprintln!("making {}", folder.display());
    make()?;
    fs::write(&complete, "").with_context(|| format!("cannot mark {}", folder.display()))
}

fn read(file: &Path) -> anyhow::Result<Vec<u8>> {
    fs::read(file).with_context(|| format!("cannot read {}", file.display()))
}

/// What is wanted otherwise is installed elsewhere.
fn name(kind: &str, wanted: &[&[u8]]) -> String {
    let mut digest = Sha256::new();
    for part in wanted {
        digest.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        digest.update(part);
    }
    let digest = digest.finalize();
    let hex: String = digest
        .iter()
        .take(6)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("{kind}-{hex}")
}

#[cfg(test)]
mod tests {
    use super::name;

    #[test]
    fn other_requirements_mean_another_environment() {
        assert_eq!(name("venv", &[b"a==1"]), name("venv", &[b"a==1"]));
        assert_ne!(name("venv", &[b"a==1"]), name("venv", &[b"a==2"]));
        assert_ne!(name("node", &[b"ab", b"c"]), name("node", &[b"a", b"bc"]));
    }
}
