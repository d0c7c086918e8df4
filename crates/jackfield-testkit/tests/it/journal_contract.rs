//! Every clause of the journal's contract can fail: for each there is a mistake that it catches.

mod broken;

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use jackfield_testkit::contract::journal::{CLAUSES, perform};

use self::broken::{Broken, Mistake};
use crate::mutants::{Mutant, check_clauses, check_mutants};

thread_local! {
    /// The mistake of the journals that are made on this thread.
    static MISTAKE: Cell<Mistake> = const { Cell::new(Mistake::None) };
}

/// Whether a journal with this mistake does not keep this clause.
fn catches(mistake: Mistake, clause: &str) -> bool {
    MISTAKE.set(mistake);
    let kept = catch_unwind(AssertUnwindSafe(|| {
        // Paused, so that a journal that never answers costs no time.
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().start_paused(true).build();
        let runtime = runtime.unwrap_or_else(|error| panic!("{error}"));
        runtime.block_on(perform::<Broken>(clause));
    }));
    kept.is_err()
}

#[test]
fn a_journal_without_a_mistake_keeps_every_clause() {
    let broken = CLAUSES.iter().map(|clause| clause.name);
    let broken: Vec<_> = broken
        .filter(|clause| catches(Mistake::None, clause))
        .collect();
    assert_eq!(broken, [""; 0]);
}

#[test]
fn every_clause_catches_its_mutant() {
    let mutants: Vec<Mutant> = MISTAKES
        .iter()
        .map(|(mistake, clause)| Mutant {
            caught: catches(*mistake, clause),
            clause,
            name: format!("{mistake:?}"),
        })
        .collect();
    check_mutants("Journal", CLAUSES, &mutants);
}

#[test]
fn every_clause_says_what_it_demands() {
    check_clauses("Journal", CLAUSES);
}

/// Each mistake, and the clause that is there for it.
const MISTAKES: &[(Mistake, &str)] = &[
    (Mistake::AlwaysTheSameEpoch, "each_owner_has_a_higher_epoch"),
    (
        Mistake::StaleEpochTaken,
        "an_older_owner_can_append_no_more",
    ),
    (
        Mistake::StaleRepetitionCommitted,
        "a_stale_owner_is_refused_even_what_it_wrote",
    ),
    (
        Mistake::LeaseIgnored,
        "a_session_has_one_owner_until_its_lease_has_passed",
    ),
    (
        Mistake::LeaseNeverTold,
        "a_session_has_one_owner_until_its_lease_has_passed",
    ),
    (
        Mistake::LeaseOverstayed,
        "an_owner_whose_lease_has_passed_can_append_no_more",
    ),
    (
        Mistake::LeaseOverstayed,
        "an_owner_whose_lease_has_passed_begins_nothing",
    ),
    (
        Mistake::CloseForgotten,
        "what_is_closed_owns_nothing_and_loses_nothing",
    ),
    (
        Mistake::CloseLoses,
        "what_is_closed_owns_nothing_and_loses_nothing",
    ),
    (Mistake::SessionsMixed, "sessions_are_apart"),
    (
        Mistake::GapClosed,
        "an_append_begins_where_the_journal_ends",
    ),
    (
        Mistake::OverlapCut,
        "an_append_begins_where_the_journal_ends",
    ),
    (
        Mistake::NumbersIgnored,
        "a_step_has_the_number_of_its_place",
    ),
    (Mistake::HalfWritten, "an_append_is_all_or_nothing"),
    (
        Mistake::RepetitionWritten,
        "a_repeated_append_is_committed_once",
    ),
    (
        Mistake::RepetitionRefused,
        "a_repeated_append_is_committed_once",
    ),
    (
        Mistake::OnlyLastRecognised,
        "a_repetition_is_recognised_after_later_appends",
    ),
    (
        Mistake::WrittenPlaceCommitted,
        "another_step_at_a_written_place_is_refused",
    ),
    (
        Mistake::WrittenPlaceCommitted,
        "of_appends_at_once_one_is_committed",
    ),
    (
        Mistake::AllSeen,
        "a_wait_with_an_unseen_answer_is_not_closed_otherwise",
    ),
    (
        Mistake::AllSeen,
        "an_answer_before_the_deadline_wins_over_expiry",
    ),
    (Mistake::AnswerRefused, "a_wait_is_closed_by_its_answer"),
    (
        Mistake::NothingSeen,
        "a_wait_with_a_seen_answer_may_be_closed_otherwise",
    ),
    (
        Mistake::AnyUnseenHinders,
        "other_unseen_deliveries_hinder_nothing",
    ),
    (
        Mistake::StepsReversed,
        "what_was_committed_is_loaded_equal_and_in_order",
    ),
    (
        Mistake::InstantsRounded,
        "what_was_committed_is_loaded_equal_and_in_order",
    ),
    (Mistake::LargeTextsCut, "a_large_text_comes_back_whole"),
    (
        Mistake::LargeTextsForgotten,
        "a_large_text_stays_as_long_as_a_session_has_it",
    ),
    (
        Mistake::DeliveriesReversed,
        "what_was_delivered_is_loaded_equal_and_in_order",
    ),
    (
        Mistake::EmptyIsUnknown,
        "a_session_without_steps_loads_empty",
    ),
    (Mistake::UnknownIsEmpty, "an_unknown_session_is_an_error"),
    (
        Mistake::DeliveryMakesSession,
        "an_unknown_session_is_an_error",
    ),
    (Mistake::Forgetful, "a_restart_loses_nothing"),
    (
        Mistake::DeliveryTakesOwnership,
        "a_delivery_needs_no_ownership",
    ),
    (Mistake::IdsIgnored, "a_delivery_is_accepted_once"),
    (Mistake::TimeLost, "the_journal_sets_the_time_of_a_delivery"),
    (Mistake::CancelNeedsTurn, "a_cancel_is_always_accepted"),
    (Mistake::RefusedKept, "what_is_not_accepted_is_not_kept"),
    (Mistake::ClockFast, "an_answer_at_the_deadline_is_accepted"),
    (
        Mistake::LateAccepted,
        "an_answer_after_the_deadline_is_told_that_it_is_late",
    ),
    (Mistake::SecondAccepted, "the_first_answer_wins"),
    (
        Mistake::SecondAccepted,
        "of_answers_at_once_one_is_accepted",
    ),
    (Mistake::EndForgotten, "a_closed_wait_says_how_it_ended"),
    (
        Mistake::WaitReopened,
        "a_closed_wait_is_not_opened_or_closed_again",
    ),
    (Mistake::NoWaitAccepted, "an_answer_to_no_wait_is_told_so"),
    (
        Mistake::NoWaitAccepted,
        "an_answer_of_another_kind_finds_no_wait",
    ),
    (
        Mistake::InboxLags,
        "an_accepted_delivery_is_in_load_and_inbox",
    ),
    (
        Mistake::LoadWithoutInbox,
        "an_accepted_delivery_is_in_load_and_inbox",
    ),
    (
        Mistake::InboxFromStart,
        "the_inbox_begins_at_the_place_asked_for",
    ),
    (
        Mistake::InboxEmptyAtOnce,
        "the_inbox_waits_until_there_is_something",
    ),
    (
        Mistake::InboxNeverWakes,
        "the_inbox_waits_until_there_is_something",
    ),
    (
        Mistake::InboxForOne,
        "every_reader_of_the_inbox_gets_each_delivery",
    ),
    (
        Mistake::InboxTaken,
        "a_dropped_reader_of_the_inbox_takes_nothing_along",
    ),
    (
        Mistake::FollowFromStart,
        "a_watcher_gets_the_steps_from_the_requested_number",
    ),
    (
        Mistake::FollowEmptyAtOnce,
        "a_watcher_waits_for_the_next_step",
    ),
    (
        Mistake::FollowNeverWakes,
        "a_watcher_waits_for_the_next_step",
    ),
    (Mistake::FollowForOne, "every_watcher_gets_each_step"),
    (
        Mistake::FollowUnaware,
        "a_watcher_learns_that_the_session_is_deleted",
    ),
    (
        Mistake::ReleaseForgotten,
        "a_released_owner_can_append_no_more",
    ),
    (
        Mistake::ReleaseOfAny,
        "only_the_owner_can_release_a_session",
    ),
    (Mistake::DeleteForgotten, "what_is_deleted_is_gone"),
    (Mistake::DeleteOfOwned, "what_is_owned_is_not_deleted"),
    (
        Mistake::EpochsBeginAgain,
        "no_epoch_comes_again_after_a_deletion",
    ),
    (
        Mistake::OldestFirst,
        "sessions_are_listed_the_one_changed_last_first",
    ),
    (Mistake::PagesSkip, "a_list_goes_on_after_any_row"),
    (Mistake::BytesForgotten, "a_row_says_when_and_how_much"),
    (
        Mistake::LabelForgotten,
        "a_given_title_is_listed_until_it_is_taken_away",
    ),
    (
        Mistake::PinLost,
        "a_session_is_pinned_and_archived_until_it_is_not",
    ),
    (
        Mistake::TitleForgotten,
        "a_title_is_the_first_message_in_one_line",
    ),
    (
        Mistake::OnlyWaitsForgotten,
        "a_row_says_where_the_open_turn_is",
    ),
    (Mistake::RefusedListed, "what_was_refused_changes_no_row"),
    (Mistake::HoldForgotten, "what_is_held_is_not_deleted"),
    (Mistake::HoldOwns, "a_hold_hinders_nothing_but_deletion"),
    (Mistake::HoldForever, "a_hold_ends_when_it_is_dropped"),
    (Mistake::CaseMatters, "sessions_are_found_by_their_words"),
    (
        Mistake::WaitsNeverClose,
        "open_waits_are_those_without_an_answer",
    ),
    (
        Mistake::NewestWaits,
        "open_waits_are_the_oldest_of_one_session_or_of_all",
    ),
    (Mistake::ClosedWaitsLost, "waits_are_found_by_their_ids"),
    (
        Mistake::WaitsUnnoticed,
        "open_waits_are_those_without_an_answer",
    ),
    (Mistake::WaitsOfAll, "waits_are_listed_by_principal"),
    (
        Mistake::DueNever,
        "an_open_turn_without_owner_is_due_at_once",
    ),
    (Mistake::DueOwned, "what_is_owned_is_not_due"),
    (
        Mistake::DueLate,
        "what_only_waits_is_due_at_its_earliest_deadline",
    ),
    (
        Mistake::DueEarly,
        "what_only_waits_is_due_at_its_earliest_deadline",
    ),
    (
        Mistake::DueEarly,
        "what_waits_to_ask_its_model_again_is_due_then",
    ),
    (Mistake::DueDeaf, "an_unseen_delivery_is_due_at_once"),
    (
        Mistake::ParkedNever,
        "what_was_taken_up_in_vain_three_times_is_parked",
    ),
    (Mistake::ParkedNever, "what_was_restored_is_parked"),
    (Mistake::RestoredForEver, "what_was_restored_is_parked"),
    (Mistake::RestoredForgotten, "what_was_restored_is_parked"),
    (Mistake::RestoredListedAsOpen, "what_was_restored_is_parked"),
    (Mistake::MostIgnored, "no_more_are_due_than_were_asked_for"),
    (Mistake::NotedDue, "what_is_only_noted_is_not_due"),
    (Mistake::ViewsForgotten, "a_turn_is_found_by_its_marks"),
    (
        Mistake::PrincipalsMixed,
        "nothing_is_found_of_another_principal",
    ),
    (Mistake::LastCallers, "a_session_is_its_first_callers"),
    (
        Mistake::OldestFound,
        "of_each_mark_the_newest_turns_are_found_first",
    ),
    (
        Mistake::RepetitionFound,
        "what_was_not_written_is_not_found",
    ),
    (Mistake::DeletedFound, "what_is_deleted_is_not_found"),
    (
        Mistake::SpendingRounded,
        "a_spending_record_comes_back_equal",
    ),
    (Mistake::SpendingTwice, "a_spending_record_is_stored_once"),
    (
        Mistake::SpendingRepetitionRefused,
        "a_spending_record_is_stored_once",
    ),
    (
        Mistake::SpendingOverwritten,
        "the_first_spending_record_of_an_id_stays",
    ),
    (
        Mistake::SpendingEstimateKept,
        "a_count_replaces_its_estimate",
    ),
    (
        Mistake::SpendingUnordered,
        "spending_records_are_ordered_by_time_and_id",
    ),
    (
        Mistake::SpendingLimitIgnored,
        "pages_of_spending_records_have_each_once",
    ),
    (
        Mistake::SpendingPagesRepeat,
        "pages_of_spending_records_have_each_once",
    ),
    (
        Mistake::SpendingPagesSkip,
        "pages_of_spending_records_have_each_once",
    ),
    (
        Mistake::SpendingSinceExcluded,
        "spending_records_begin_at_a_time",
    ),
    (
        Mistake::SpendingPlaceIgnored,
        "spending_records_begin_at_a_time",
    ),
    (Mistake::Forgetful, "a_restart_keeps_spending_records"),
    (
        Mistake::SpendingDeletedAtTheTime,
        "old_spending_records_are_deleted",
    ),
    (
        Mistake::SpendingDeletedBeyondTheLimit,
        "old_spending_records_are_deleted",
    ),
    (
        Mistake::SpendingNeverDeleted,
        "old_spending_records_are_deleted",
    ),
];
