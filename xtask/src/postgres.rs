//! PostgreSQL and PgBouncer for the suite on a real server, which its tests start.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::apt;
use crate::testing::suite::Variables;

/// Installs what is missing.
pub(crate) fn prepare(root: &Path) -> anyhow::Result<Variables> {
    install(root)?;
    if !POOLERS.iter().any(|program| Path::new(program).is_file()) {
        apt::install(root, "pgbouncer").context("install PgBouncer: the package `pgbouncer`")?;
    }
    if cfg!(target_os = "linux") && !has_faketime() {
        apt::install(root, "faketime").context("install faketime: the package `faketime`")?;
    }
    Ok(Vec::new())
}

/// Whether there is the library that shifts the clock of a program; the tests look in the same places.
fn has_faketime() -> bool {
    let folders = fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    let mut files = folders.map(|folder| folder.path().join("faketime/libfaketimeMT.so.1"));
    files.any(|file| file.is_file())
}

/// Sees that there is a server that tests can start.
pub(crate) fn install(root: &Path) -> anyhow::Result<()> {
    if !is_installed() {
        apt::install(root, "postgresql").context(MISSING)?;
    }
    Ok(())
}

/// Whether there is a server where its packages put it, or on the path; the tests look in the same places.
fn is_installed() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    for above in PLACES {
        let versions = fs::read_dir(above).into_iter().flatten().flatten();
        folders.extend(versions.map(|version| version.path().join("bin")));
    }
    folders.iter().any(|folder| folder.join("initdb").is_file())
}

/// The folders above those of the versions: Debian's, and Homebrew's.
const PLACES: &[&str] = &["/usr/lib/postgresql", "/opt/homebrew/opt", "/usr/local/opt"];

/// Where PgBouncer is.
const POOLERS: &[&str] = &[
    "/usr/sbin/pgbouncer",
    "/usr/bin/pgbouncer",
    "/opt/homebrew/bin/pgbouncer",
    "/usr/local/bin/pgbouncer",
];

const MISSING: &str =
    "install PostgreSQL 15 or later: Debian's package `postgresql`, or `postgresql@17` of Homebrew";
