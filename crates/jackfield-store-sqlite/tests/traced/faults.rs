//! A disk that fails: nothing is acknowledged that is not durable, and what is there opens again.

use std::collections::BTreeSet;
use std::path::Path;

use crate::judge::judge;
use crate::trace::{Traced, plainly, traced};

#[test]
fn a_sync_that_fails_acknowledges_nothing() {
    let mut unknown = 0;
    for nth in 1..=calls_of(&["fdatasync", "fsync"]) {
        let traced = disturbed(&format!("fdatasync,fsync:error=EIO:when={nth}"));
        unknown += traced.said.matches("unknown").count();
        if traced.said.contains("unknown") {
            assert!(traced.said.contains("disk I/O error"), "{}", traced.said);
        }
    }
    assert!(unknown + 1 >= APPENDS, "only {unknown} were disturbed");
}

#[test]
fn a_disk_that_fails_for_good_acknowledges_nothing_more() {
    let traced = disturbed("fdatasync,fsync:error=EIO:when=4+");
    assert!(traced.said.contains("unknown"), "{}", traced.said);
    let last = format!("acknowledged {}", APPENDS - 1);
    assert!(!traced.said.contains(&last), "{}", traced.said);
}

#[test]
fn a_full_disk_leaves_no_half_written_step() {
    let mut failed = 0;
    for nth in 1..=calls_of(&["pwrite64"]) {
        let traced = disturbed(&format!("pwrite64:error=ENOSPC:when={nth}"));
        let said = traced.said.lines();
        let full = said.filter(|line| line.contains("the disk is full"));
        failed += full.count();
    }
    assert!(failed >= APPENDS, "only {failed} were disturbed");
}

/// Runs a few appends with a fault, and checks what has to be so in any case.
fn disturbed(fault: &str) -> Traced {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("a.db");
    let traced = afterwards(&file, &[fault]);
    let verdict = judge(&traced.calls);
    let said = format!("{fault}\n{}{}", traced.said, traced.says_wrong);
    assert_eq!(verdict.not_durable, [0; 0], "{said}");
    // As the next process finds it: whole or not there, and nothing missing that was acknowledged.
    let holds = plainly(&file, &["read"]);
    let holds: Vec<&str> = holds.lines().collect();
    let distinct: BTreeSet<&&str> = holds.iter().collect();
    assert_eq!(holds.len(), 2 * distinct.len(), "a half\n{holds:?}\n{said}");
    for nth in verdict.told {
        let mark = format!("holds mark-{nth:05}");
        assert!(distinct.contains(&mark.as_str()), "{mark} is gone\n{said}");
    }
    traced
}

/// Makes the file, and then appends with these faults, which strace counts for each thread.
fn afterwards(file: &Path, faults: &[&str]) -> Traced {
    plainly(file, &["append", "0"]);
    traced(file, &["append", &APPENDS.to_string()], faults)
}

/// How many calls of these names an undisturbed run has.
fn calls_of(names: &[&str]) -> usize {
    let folder = tempfile::tempdir().expect("a folder");
    let traced = afterwards(&folder.path().join("a.db"), &[]);
    let named = traced
        .calls
        .iter()
        .filter(|call| names.contains(&&*call.name));
    named.count()
}

const APPENDS: usize = 4;
