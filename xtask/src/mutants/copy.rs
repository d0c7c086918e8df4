//! A copy of the workspace, in which mistakes are made.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use super::list::Mutant;
use crate::run;

/// The copy. Its files have the times of their originals, so that cargo builds only what changed, and tests do not build
/// the programs of the checkout anew.
#[derive(Debug)]
pub(crate) struct Copy {
    root: PathBuf,
}

impl Copy {
    /// Brings the copy at `to` up to the files of `from`.
    pub(crate) fn update(from: &Path, to: &Path, files: &[PathBuf]) -> anyhow::Result<Self> {
        let wanted: BTreeSet<&Path> = files.iter().map(PathBuf::as_path).collect();
        for file in &wanted {
            let (original, copied) = (from.join(file), to.join(file));
            let bytes = fs::read(&original).with_context(|| read(file))?;
            if write(&copied, &bytes)? {
                let changed = fs::metadata(&original).and_then(|file| file.modified());
                let set = |time| {
                    fs::File::options()
                        .write(true)
                        .open(&copied)?
                        .set_modified(time)
                };
                changed.and_then(set).with_context(|| read(file))?;
            }
        }
        remove_others(to, to, &wanted)?;
        Ok(Self {
            root: to.to_owned(),
        })
    }

    /// Where the copy is.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Makes the mistake, runs `during`, and mends it again, whatever came of it.
    pub(crate) fn with<T>(
        &self,
        mutant: &Mutant,
        during: impl FnOnce() -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let path = self.root.join(mutant.file);
        let sound = fs::read_to_string(&path)
            .with_context(|| format!("mutant `{}`: {}", mutant.name, read(&path)))?;
        write(&path, mutated(mutant, &sound)?.as_bytes())?;
        let outcome = during();
        write(&path, sound.as_bytes())?;
        outcome
    }
}

/// Returns the files of a checkout: those that git knows, and new ones that it does not ignore.
pub(crate) fn files(root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let args = [
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ];
    let listed = run::output(&mut run::command("git", root, args))?;
    let names = listed.split('\0').filter(|name| !name.is_empty());
    // A file that was deleted and not yet committed is still listed.
    Ok(names
        .map(PathBuf::from)
        .filter(|file| root.join(file).is_file())
        .collect())
}

/// Returns the text with the mistake in it.
pub(crate) fn mutated(mutant: &Mutant, sound: &str) -> anyhow::Result<String> {
    let (name, file) = (mutant.name, mutant.file);
    if mutant.from == mutant.to {
        bail!("mutant `{name}` changes nothing");
    }
    match sound.matches(mutant.from).count() {
        1 => Ok(sound.replacen(mutant.from, mutant.to, 1)),
        0 => bail!("mutant `{name}`: {file} no longer has `{}`", mutant.from),
        many => bail!("mutant `{name}`: {file} has `{}` {many} times", mutant.from),
    }
}

/// Writes a file, unless it has these bytes; returns whether it did.
fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<bool> {
    if fs::read(path).is_ok_and(|found| found == bytes) {
        return Ok(false);
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(true)
}

fn remove_others(root: &Path, folder: &Path, wanted: &BTreeSet<&Path>) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder).with_context(|| read(folder))? {
        let path = entry?.path();
        if path.is_dir() {
            remove_others(root, &path, wanted)?;
        } else if !path
            .strip_prefix(root)
            .is_ok_and(|file| wanted.contains(file))
        {
            fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        }
    }
    Ok(())
}

fn read(path: &Path) -> String {
    format!("cannot read {}", path.display())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::{Copy, mutated};
    use crate::mutants::list::Mutant;

    fn mutant(from: &'static str, to: &'static str) -> Mutant {
        Mutant {
            name: "late",
            file: "src/a.rs",
            from,
            to,
            package: "a",
            test: "t",
        }
    }

    #[test]
    fn a_mistake_is_made_in_one_place_or_not_at_all() {
        let sound = "a b a\n";
        assert_eq!(mutated(&mutant("b", "c"), sound).unwrap(), "a c a\n");
        for (from, said) in [("a", "has `a` 2 times"), ("x", "no longer has `x`")] {
            let error = mutated(&mutant(from, "c"), sound).unwrap_err().to_string();
            assert!(
                error.contains("mutant `late`") && error.contains(said),
                "{error}"
            );
        }
        assert!(mutated(&mutant("b", "b"), sound).is_err());
    }

    #[test]
    fn a_copy_follows_its_original_and_is_mended_after_a_mistake() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::create_dir_all(from.join("src")).unwrap();
        fs::write(from.join("src/a.rs"), "a").unwrap();
        fs::write(from.join("gone"), "").unwrap();
        let both = [PathBuf::from("src/a.rs"), PathBuf::from("gone")];
        let copy = Copy::update(&from, &to, &both).unwrap();
        let before = fs::metadata(to.join("src/a.rs"))
            .unwrap()
            .modified()
            .unwrap();
        assert!(to.join("gone").exists());

        Copy::update(&from, &to, &both[..1]).unwrap();
        assert!(!to.join("gone").exists());
        let after = fs::metadata(to.join("src/a.rs"))
            .unwrap()
            .modified()
            .unwrap();
        assert_eq!(before, after);
        let original = fs::metadata(from.join("src/a.rs")).unwrap();
        assert_eq!(after, original.modified().unwrap());

        let path = to.join("src/a.rs");
        let text = |path: &Path| fs::read_to_string(path).unwrap();
        let outcome: anyhow::Result<()> = copy.with(&mutant("a", "b"), || {
            assert_eq!(text(&path), "b");
            anyhow::bail!("stop")
        });
        assert!(outcome.is_err());
        assert_eq!(text(&path), "a");
    }
}
