//! The programs of this crate beside a test, which must not be older than their source.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// The program of this crate with this name, beside the test that asks. One that is not there, or older than its
/// source, is built now.
///
/// # Panics
///
/// If it cannot be built.
#[must_use]
pub fn program(name: &str) -> PathBuf {
    static BUILDING: Mutex<()> = Mutex::new(());
    let this = std::env::current_exe().unwrap_or_default();
    let folder = this.ancestors().nth(2).unwrap_or_else(|| Path::new("."));
    let program = folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    let building = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
    if is_stale(&program) {
        // What is written during the build is not in it.
        let began = SystemTime::now();
        let mut build = Command::new(env!("CARGO"));
        build
            .args(["build", "--quiet", "-p", env!("CARGO_PKG_NAME")])
            .args(["--bin", name, "--target-dir"])
            .arg(folder.parent().unwrap_or(folder))
            .current_dir(env!("CARGO_MANIFEST_DIR"));
        if folder.ends_with("release") {
            build.arg("--release");
        }
        let done = build.status().is_ok_and(|status| status.success());
        // What did not have to be built again is as good as new.
        let file = std::fs::File::open(&program);
        let marked = file.and_then(|file| file.set_modified(began));
        assert!(
            done && marked.is_ok(),
            "{} cannot be built",
            program.display()
        );
    }
    drop(building);
    program
}

/// Whether a program of this crate is not there, or older than the crate's source.
#[must_use]
pub fn is_stale(program: &Path) -> bool {
    let built = program.metadata().and_then(|file| file.modified());
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    built.is_ok_and(|built| built < newest(&source)) || !program.is_file()
}

/// When the newest file below this folder was written.
fn newest(folder: &Path) -> SystemTime {
    let mut newest = SystemTime::UNIX_EPOCH;
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let written = if path.is_dir() {
            Some(self::newest(&path))
        } else {
            entry.metadata().and_then(|file| file.modified()).ok()
        };
        newest = newest.max(written.unwrap_or(newest));
    }
    newest
}
