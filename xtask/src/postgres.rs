//! `cargo xtask postgres`: the journal on a real PostgreSQL server, which the tests start, and the slices on it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context as _;

use crate::{apt, run};

/// Runs what needs a server.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let started = Instant::now();
    install(root)?;
    if !POOLERS.iter().any(|program| Path::new(program).is_file()) {
        apt::install(root, "pgbouncer").context("install PgBouncer: the package `pgbouncer`")?;
    }
    let mut test = run::cargo(root, ["test", "--workspace", "--test", "server"]);
    run::succeed(test.args(["--features", "jackfield-store-postgres/server"]))?;
    let slices = [
        "--workspace",
        "--features",
        "jackfield-tests/postgres",
        "--test",
        "postgres",
    ];
    let mut build = run::cargo(root, ["build", "--bin", "jackfield"]);
    run::succeed(build.args(slices))?;
    run::succeed(run::cargo(root, ["test"]).args(slices))?;
    eprintln!("postgres: {}", run::spoken(started.elapsed()));
    Ok(())
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
