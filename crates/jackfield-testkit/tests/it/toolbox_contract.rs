//! Every clause of the toolbox's contract can fail: for each there is a mistake that it catches.

mod broken;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jackfield_testkit::contract::toolbox::{CLAUSES, check, check_within, perform};

use self::broken::{Broken, Mistake};
use crate::mutants::{Mutant, check_clauses, check_mutants};

/// The mistake of the toolboxes that are made now, on any thread.
static MISTAKE: Mutex<Mistake> = Mutex::new(Mistake::None);

fn mistake() -> Mistake {
    *MISTAKE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets all toolboxes have this mistake for a while; one test at a time.
fn with_mistake<T>(mistake: Mistake, test: impl FnOnce() -> T) -> T {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    *MISTAKE.lock().unwrap_or_else(PoisonError::into_inner) = mistake;
    test()
}

/// The clauses that a toolbox with this mistake does not keep.
fn caught(mistake: Mistake) -> BTreeSet<&'static str> {
    let is_broken = |clause: &str| {
        let kept = catch_unwind(AssertUnwindSafe(|| {
            // Paused, so that a toolbox that never answers costs no time.
            let mut runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = runtime.enable_all().start_paused(true).build();
            let runtime = runtime.unwrap_or_else(|error| panic!("{error}"));
            runtime.block_on(perform::<Broken>(clause));
        }));
        kept.is_err()
    };
    let clauses = CLAUSES.iter().map(|clause| clause.name);
    with_mistake(mistake, || {
        clauses.filter(|clause| is_broken(clause)).collect()
    })
}

#[test]
fn a_toolbox_without_a_mistake_keeps_every_clause() {
    assert_eq!(caught(Mistake::None), BTreeSet::new());
}

#[test]
fn every_clause_catches_its_mutant() {
    let mutants: Vec<Mutant> = MISTAKES
        .iter()
        .map(|(mistake, clause)| Mutant {
            caught: caught(*mistake).contains(clause),
            clause,
            name: format!("{mistake:?}"),
        })
        .collect();
    check_mutants("Toolbox", CLAUSES, &mutants);
}

#[test]
fn every_clause_says_what_it_demands() {
    check_clauses("Toolbox", CLAUSES);
}

#[test]
fn an_exception_has_to_be_a_clause_that_is_not_kept_and_to_have_a_reason() {
    let clause = "the_list_gives_each_tool_once";
    let ends = |mistake: Mistake, exceptions: &[(&str, &str)]| {
        let check = || check::<Broken>(clause, exceptions);
        with_mistake(mistake, || catch_unwind(AssertUnwindSafe(check)).is_ok())
    };
    assert!(ends(Mistake::None, &[]));
    assert!(!ends(Mistake::ToolTwice, &[]));
    assert!(ends(Mistake::ToolTwice, &[(clause, "a reason")]));
    assert!(
        !ends(Mistake::ToolTwice, &[(clause, " ")]),
        "without a reason"
    );
    assert!(
        !ends(Mistake::None, &[(clause, "a reason")]),
        "although it is kept"
    );
    assert!(!ends(Mistake::None, &[("no_such_clause", "a reason")]));
}

#[test]
fn a_call_that_blocks_for_ever_fails_its_clause_instead_of_hanging_it() {
    let check = || {
        let clause = "no_call_blocks_its_thread";
        check_within::<Broken>(Duration::from_millis(500), clause, &[]);
    };
    let kept = with_mistake(Mistake::BlocksForEver, || catch_unwind(check));
    assert!(kept.is_err());
}

/// Each mistake, and the clause that is there for it.
const MISTAKES: &[(Mistake, &str)] = &[
    (Mistake::ToolTwice, "the_list_gives_each_tool_once"),
    (Mistake::SchemaIsText, "every_schema_is_a_json_object"),
    (Mistake::ListChanges, "the_list_stays_the_same"),
    (
        Mistake::ForgetsItsLease,
        "a_call_is_not_made_after_its_lease",
    ),
    (Mistake::RunsTwice, "a_call_runs_its_tool_once"),
    (Mistake::EffectLater, "a_call_runs_its_tool_once"),
    (Mistake::EffectTwice, "a_call_runs_its_tool_once"),
    (Mistake::KeyIgnored, "a_repetition_has_no_further_effect"),
    (Mistake::KeyIsAttempt, "a_repetition_has_no_further_effect"),
    (Mistake::KeyIsCall, "a_repetition_has_no_further_effect"),
    (Mistake::LastKeyOnly, "a_repetition_has_no_further_effect"),
    (Mistake::KeysAreFew, "a_repetition_has_no_further_effect"),
    (
        Mistake::KeyAfterEffect,
        "a_repetition_has_no_further_effect",
    ),
    (
        Mistake::KeyBeforeEffect,
        "a_repetition_has_no_further_effect",
    ),
    (
        Mistake::RepetitionSaysSo,
        "a_repetition_has_the_same_outcome",
    ),
    (
        Mistake::FailureIsForgotten,
        "a_repetition_has_the_same_outcome",
    ),
    (
        Mistake::KeysInMemory,
        "a_repetition_after_a_restart_has_no_further_effect",
    ),
    (Mistake::KeyIsArguments, "another_key_is_another_call"),
    (Mistake::LookWrites, "a_read_only_call_has_no_effect"),
    (Mistake::PromisesMore, "a_read_only_call_has_no_effect"),
    (Mistake::PromisesMore, "a_repetition_has_no_further_effect"),
    (Mistake::LookWritesLater, "a_read_only_call_has_no_effect"),
    (Mistake::BlocksItsThread, "no_call_blocks_its_thread"),
    (Mistake::BlocksInATask, "no_call_blocks_its_thread"),
    (Mistake::TriesAgain, "a_failed_call_is_not_tried_again"),
    (
        Mistake::FailureIsError,
        "a_failure_of_the_tools_own_is_a_result",
    ),
    (
        Mistake::UnknownMayHaveRun,
        "an_unknown_tool_is_proved_not_to_have_run",
    ),
    (Mistake::LimitTooLow, "an_outcome_at_the_limit_is_whole"),
    (
        Mistake::NeverCut,
        "an_outcome_above_the_limit_is_cut_with_a_marker",
    ),
    (
        Mistake::CutInSilence,
        "an_outcome_above_the_limit_is_cut_with_a_marker",
    ),
    (Mistake::RunsOn, "dropping_a_call_cancels_it"),
    (
        Mistake::LateForgotten,
        "an_outcome_after_the_drop_is_handed_on",
    ),
    (
        Mistake::LateAlthoughOnTime,
        "an_outcome_that_came_back_does_not_come_late",
    ),
    (
        Mistake::PanicGoesThrough,
        "a_crash_of_a_tool_ends_its_call_alone",
    ),
    (
        Mistake::CrashIsNotSent,
        "a_crash_of_a_tool_ends_its_call_alone",
    ),
    (Mistake::ResumeRuns, "what_cannot_be_taken_up_is_not_run"),
    (
        Mistake::ResumeIsNotSent,
        "what_cannot_be_taken_up_is_not_run",
    ),
];
