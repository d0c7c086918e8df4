//! Between an append and its acknowledgement there is a sync, and many appends share one.

use crate::judge::judge;
use crate::trace::traced;

#[test]
fn every_append_is_synced_before_it_is_acknowledged() {
    let folder = tempfile::tempdir().expect("a folder");
    let traced = traced(&folder.path().join("a.db"), &["append", "20"], &[]);
    let verdict = judge(&traced.calls);
    assert_eq!(
        verdict.told.len(),
        20,
        "{}{}",
        traced.said,
        traced.says_wrong
    );
    assert_eq!(verdict.not_durable, [0; 0]);
    // One each, and no more than one each, beside what closing does.
    assert!((20..=22).contains(&verdict.syncs), "{verdict:?}");
}

#[test]
fn whoever_takes_a_session_or_lets_it_go_needs_no_sync_of_its_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let traced = traced(&folder.path().join("a.db"), &["owned", "20"], &[]);
    let verdict = judge(&traced.calls);
    assert_eq!(
        verdict.told.len(),
        20,
        "{}{}",
        traced.said,
        traced.says_wrong
    );
    // The append in between has its own all the same.
    assert_eq!(verdict.not_durable, [0; 0]);
    assert!((20..=22).contains(&verdict.syncs), "{verdict:?}");
}

#[test]
fn appends_side_by_side_share_their_syncs_and_each_has_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let traced = traced(&folder.path().join("a.db"), &["together", "64"], &[]);
    let verdict = judge(&traced.calls);
    assert_eq!(
        verdict.told.len(),
        64,
        "{}{}",
        traced.said,
        traced.says_wrong
    );
    assert_eq!(verdict.not_durable, [0; 0]);
    assert!((1..=32).contains(&verdict.syncs), "{verdict:?}");
}

#[test]
fn the_judge_finds_what_is_not_durable() {
    for (mode, lost) in [("full", 0), ("normal", 20), ("off", 20)] {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("a.db");
        let traced = traced(&file, &["plain", mode, "20"], &[]);
        let verdict = judge(&traced.calls);
        assert_eq!(
            verdict.told.len(),
            20,
            "{}{}",
            traced.said,
            traced.says_wrong
        );
        assert_eq!(verdict.not_durable.len(), lost, "{mode}: {verdict:?}");
    }
}

#[test]
fn a_slow_disk_is_waited_for() {
    let folder = tempfile::tempdir().expect("a folder");
    // Half of the time after the sync was done, as the kernel sees it.
    let slow = "fdatasync,fsync:delay_enter=20000:delay_exit=20000";
    let traced = traced(&folder.path().join("a.db"), &["append", "5"], &[slow]);
    let verdict = judge(&traced.calls);
    assert_eq!(verdict.told, [0, 1, 2, 3, 4], "{}", traced.says_wrong);
    assert_eq!(verdict.not_durable, [0; 0]);
}
