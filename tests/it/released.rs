//! Journals that released versions wrote: every later version reads them, and goes on with what is in them.
//!
//! Each release leaves one file, `tests/fixtures/journal-VERSION.db`, and two journals of gateways with users, which are
//! `accounts-VERSION.db.gz` and `accounts-VERSION.sql.gz`. `cargo xtask fixture` makes them, and beside each what is in
//! it, as text. None is ever changed.

mod accounts;
mod generated;
mod going_on;
mod kinds;
mod maker;
mod seen;
mod summary;
mod users;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::harness::{Kept, Ran};

/// What is made today has everything that there is. `JACKFIELD_FIXTURE` names the folder that it is left in.
#[tokio::test]
async fn the_journal_of_this_version_has_every_kind_of_fact_delivery_and_wait() {
    let files = Kept::new();
    let seen = maker::make(&files).await;
    let missing: Vec<_> = kinds::all().difference(&seen).copied().collect();
    assert_eq!(missing, [""; 0], "add them to tests/it/released");
    let (summary, read) = summary::read(&files.file()).await;
    assert_eq!(read.0, seen);
    if let Some(folder) = std::env::var_os("JACKFIELD_FIXTURE") {
        let path = Path::new(&folder).join(format!("journal-{}.db", env!("CARGO_PKG_VERSION")));
        assert!(
            !path.exists(),
            "{} is there: it is never rewritten",
            path.display()
        );
        fs::copy(files.file(), &path).expect("the folder can be written");
        fs::write(path.with_extension("txt"), summary).expect("the folder can be written");
    }
    let size = fs::metadata(files.file()).expect("a file").len();
    assert!(size < LARGEST, "the journal has {size} bytes");
}

#[tokio::test]
async fn what_released_versions_wrote_is_read_as_it_was_written() {
    for fixture in fixtures() {
        let files = copied(&fixture);
        let (summary, _) = summary::read(&files.file()).await;
        let written = fs::read_to_string(fixture.with_extension("txt")).expect("a text");
        let lines = written.lines().zip(summary.lines());
        for (nth, (written, read)) in (1..).zip(lines) {
            assert_eq!(read, written, "{}, line {nth}", fixture.display());
        }
        assert_eq!(summary.lines().count(), written.lines().count());
    }
}

#[tokio::test]
async fn every_command_shows_the_sessions_of_released_versions() {
    for fixture in fixtures() {
        let files = copied(&fixture);
        let says = async |arguments: &[&str]| -> Ran {
            let ran = files.run(arguments).run().await;
            assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
            ran
        };
        let list = says(&["sessions", "list", "--most", "1000", "--json"]).await;
        let list: Value = serde_json::from_str(&list.out).expect("a list");
        let list = list.as_array().expect("a list");
        let written = fs::read_to_string(fixture.with_extension("txt")).expect("a text");
        assert!(written.starts_with(&format!("{} sessions\n", list.len())));
        for row in list {
            let id = row["id"].as_str().expect("an id");
            let shown = says(&["sessions", "show", id]).await;
            assert!(shown.out.contains(id), "{shown:?}");
            let shown = says(&["sessions", "show", id, "--json"]).await;
            let shown: Value = serde_json::from_str(&shown.out).expect("a document");
            let turns = shown["turns"].as_array().map(Vec::len);
            assert_eq!(turns, row["turns"].as_u64().map(|turns| turns as usize));
            says(&["sessions", "export", id]).await;
            says(&["sessions", "export", id, "--json"]).await;
            says(&["sessions", "export", id, "--facts"]).await;
            if !id.starts_with("generated") {
                let replayed = says(&["replay", id]).await;
                assert!(replayed.out.contains("come out the same"), "{replayed:?}");
                assert!(!replayed.out.contains("differs"), "{replayed:?}");
            }
        }
        let audit = says(&["audit", "--json"]).await;
        assert!(audit.out.contains("bank__pay") || audit.out.contains("calculator"));
        let usage = says(&["usage", "--by", "model", "--json"]).await;
        assert!(usage.out.contains("claude-"), "{usage:?}");
        let doctor = files.run(&["doctor", "--offline", "--json"]).run().await;
        let doctor: Value = serde_json::from_str(&doctor.out).expect("a document");
        let checks = doctor["checks"].as_array().expect("checks");
        let of_journal = checks.iter().filter(|check| check["area"] == "sessions");
        let says: Vec<_> = of_journal
            .map(|check| {
                assert_ne!(check["verdict"], "failed", "{check:#}");
                check["says"].to_string()
            })
            .collect();
        let sound = "the file is sound, and everything in it can be read";
        assert!(says.iter().any(|says| says.contains(sound)), "{says:#?}");
    }
}

/// The journals of all releases.
fn fixtures() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let files = fs::read_dir(&folder).expect("the fixtures are there");
    let paths = files.map(|file| file.expect("a file").path());
    let is_journal = |path: &PathBuf| path.extension().is_some_and(|is| is == "db");
    let mut paths: Vec<_> = paths.filter(is_journal).collect();
    paths.sort();
    assert!(!paths.is_empty(), "0.1.0 left one");
    paths
}

/// A copy of a journal, as a test may change it.
fn copied(fixture: &Path) -> Kept {
    let files = Kept::new();
    fs::copy(fixture, files.file()).expect("the folder can be written");
    files
}

/// No fixture is larger than this.
const LARGEST: u64 = 600_000;
