//! The loop's properties, each a test by its name, over one exploration of generated worlds.

use crate::world::{Class, Property, explored};

macro_rules! properties {
    ($($test:ident => $property:ident,)*) => {$(
        #[test]
        fn $test() {
            if let Some(violation) = explored().violations.get(&Property::$property) {
                panic!("{violation}");
            }
        }
    )*};
}

properties! {
    a_call_is_started_only_when_a_slot_is_free => StartsOnlyWhenASlotIsFree,
    a_granted_approval_stays_granted => GrantsStayGranted,
    a_timeout_is_an_unknown_outcome => TimeoutsAreUnknown,
    an_approval_lets_one_call_start => ApprovalsAreUsedOnce,
    an_answer_in_time_beats_the_expiry => AnswersInTimeBeatTheExpiry,
    a_compaction_keeps_the_last_message_and_its_rounds => CompactionsKeepTheRest,
    cancel_ends_the_turn_in_one_step_from_any_state => CancelEndsInOneStep,
    a_client_is_shown_the_same_live_and_later => ViewsAreTheSame,
    every_call_is_closed_exactly_once_before_the_next_model_call => CallsAreClosedOnce,
    every_request_says_what_the_setup_says => RequestsFollowTheSetup,
    every_step_is_decided_the_same_in_a_replay => ReplayIsTheSame,
    every_turn_ends_within_its_limits => EveryTurnEnds,
    every_fork_is_a_conversation_that_can_go_on => ForksAreValid,
    folding_the_facts_gives_the_live_state => FactsFoldIntoTheLiveState,
    late_answers_cost_but_never_speak => LateAnswersNeverSpeak,
    the_log_of_a_turn_agrees_with_its_state => LogsAgreeWithTurns,
    messages_are_valid_for_every_provider_at_every_instant => MessagesAreValid,
    nothing_is_asked_for_that_is_not_committed => ActsOnlyOnWhatIsCommitted,
    nothing_starts_that_the_day_forbids => ForbiddenIsNotStarted,
    no_model_call_begins_that_the_rest_does_not_pay_for => PaysForWhatItBegins,
    nothing_happens_after_the_end => NothingAfterTheEnd,
    offers_are_appended_to_what_was_offered => OffersAreAppended,
    only_what_was_offered_runs => OnlyOfferedToolsRun,
    outcomes_keep_call_order_whatever_finished_first => OutcomesKeepCallOrder,
    requests_are_found_by_what_a_client_was_shown => RequestsAreFound,
    recovery_follows_the_table => RecoveryFollowsTheTable,
    the_model_is_shown_what_the_journal_says => ShownIsWhatTheJournalSays,
    the_sum_over_the_journal_is_what_the_world_charged => SpendingAddsUp,
    the_end_of_a_turn_names_what_its_client_has => ViewsAreWhatIsKept,
    targets_are_called_in_the_order_of_the_setup => TargetsFollowTheSetup,
    the_transcript_only_grows => TranscriptOnlyGrows,
    tries_that_come_to_nothing_are_counted_and_no_others => TriesInVainAreCounted,
    an_unusable_reply_is_asked_for_once_more_in_a_round => UnusableRepliesAreAskedForOnceMore,
    visible_text_is_not_taken_back_unless_it_may_be => VisibleTextStays,
    what_must_not_be_repeated_is_never_asked_for_twice => RepeatsOnlyWhatMayBeRepeated,
}

#[test]
fn the_exploration_reaches_every_class_often() {
    if explored().broke_off {
        // The properties that are violated say so; what fewer scenarios reach says nothing.
        return;
    }
    let classes = &explored().classes;
    let rare: Vec<_> = Class::ALL
        .iter()
        .map(|class| (class, classes.get(class).copied().unwrap_or(0)))
        .filter(|(_, times)| *times < FLOOR)
        .collect();
    assert!(
        rare.is_empty(),
        "reached in fewer than {FLOOR} scenarios: {rare:?}\nall: {classes:?}"
    );
}

/// In how many scenarios each class has to be reached.
const FLOOR: u32 = 10;
