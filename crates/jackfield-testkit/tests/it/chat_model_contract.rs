//! The contract of `ChatModel`, kept by an adapter for a toy vendor, and broken by it in many ways.

#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "helpers of tests fail the test, and know only the faults and manners that are theirs"
)]

mod acme;
mod calls;
mod harness;
mod wire;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use jackfield_testkit::contract::chat_model::{CLAUSES, VITAL, check};

use self::acme::Fault;
use self::harness::AcmeHarness;
use crate::mutants::{Mutant, check_clauses, check_mutants};

/// An adapter without faults keeps every clause.
mod kept {
    use super::{AcmeHarness, Fault};

    jackfield_testkit::chat_model_contract!(AcmeHarness(Fault::None));
}

/// A fault can be excepted, with a reason.
mod excepted {
    use super::{AcmeHarness, Fault};

    jackfield_testkit::chat_model_contract!(AcmeHarness(Fault::ForgetsDelay), except: {
        rate_limit_reports_the_servers_delay => "this one has no sense of time",
    });
}

#[test]
fn every_clause_catches_its_mutant() {
    // All at once: some of them are only found out by waiting in vain.
    let mutants: Vec<Mutant> = thread::scope(|scope| {
        let mut threads = Vec::new();
        for (fault, clause) in BROKEN {
            threads.push(scope.spawn(move || Mutant {
                caught: fails(*fault, clause, &[]),
                clause,
                name: format!("{fault:?}"),
            }));
        }
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    check_mutants("ChatModel", CLAUSES, &mutants);
}

#[test]
fn an_exception_that_is_not_needed_any_more_fails() {
    let exceptions = [("usage_is_reported_once", "it used to be summed")];
    assert!(!fails(
        Fault::SumsUsage,
        "usage_is_reported_once",
        &exceptions
    ));
    assert!(fails(Fault::None, "usage_is_reported_once", &exceptions));
}

#[test]
fn an_exception_without_a_reason_or_a_clause_fails() {
    let clause = "text_arrives_in_order";
    assert!(fails(
        Fault::None,
        clause,
        &[("usage_is_reported_once", " ")]
    ));
    assert!(fails(Fault::None, clause, &[("text_arrives", "no clause")]));
    assert!(fails(Fault::None, "text_arrives", &[]));
}

#[test]
fn a_vital_clause_has_no_exception_and_no_clause_has_two() {
    for clause in VITAL {
        assert!(CLAUSES.iter().any(|known| known.name == *clause));
        // Not even an adapter that breaks it.
        let exceptions = [(*clause, "it never worked")];
        assert!(fails(Fault::TakesAnyEnd, clause, &exceptions));
        assert!(fails(
            Fault::ShowsKey,
            "usage_is_reported_once",
            &exceptions
        ));
    }
    let twice = [("usage_is_reported_once", "it sums"); 2];
    assert!(fails(Fault::SumsUsage, "usage_is_reported_once", &twice));
}

#[test]
fn every_clause_says_what_it_demands() {
    check_clauses("ChatModel", CLAUSES);
}

fn fails(fault: Fault, clause: &str, exceptions: &[(&str, &str)]) -> bool {
    let run = || check(&AcmeHarness(fault), clause, exceptions);
    catch_unwind(AssertUnwindSafe(run)).is_err()
}

/// Each fault, and the clause that is there for it.
const BROKEN: &[(Fault, &str)] = &[
    (Fault::AddsCached, "usage_totals_hold_their_parts"),
    (Fault::AsksTwice, "one_call_makes_one_http_request"),
    (Fault::BuffersAll, "slow_stream_is_not_an_error"),
    (Fault::ClaimsMuch, "undeclared_capability_is_refused"),
    (
        Fault::CountsRequests,
        "every_change_of_a_request_is_sent_or_noted",
    ),
    (Fault::CutsCharacters, "any_chunking_gives_the_same_reply"),
    (
        Fault::CutsNames,
        "every_change_of_a_request_is_sent_or_noted",
    ),
    (Fault::DropsLateWords, "text_after_calls_is_kept"),
    (Fault::ForgetsDelay, "rate_limit_reports_the_servers_delay"),
    (
        Fault::ForgetsIds,
        "tool_calls_keep_upstream_ids_names_and_order",
    ),
    (Fault::ForgetsPhase, "connect_failure_is_before_send"),
    (Fault::ForgetsState, "reasoning_goes_back_as_it_came"),
    (
        Fault::ForgetsSystem,
        "every_change_of_a_request_is_sent_or_noted",
    ),
    (Fault::GivesUp, "overload_is_retryable"),
    (Fault::GivesUp, "server_errors_are_retryable"),
    (
        Fault::HidesFailures,
        "every_change_of_a_request_is_sent_or_noted",
    ),
    (Fault::HoldsOn, "dropping_the_call_closes_the_connection"),
    (
        Fault::IgnoresSettings,
        "every_change_of_a_request_is_sent_or_noted",
    ),
    (
        Fault::IgnoresStrict,
        "strict_requests_are_refused_where_others_are_noted",
    ),
    (Fault::Insists, "auth_failure_is_never_retryable"),
    (Fault::Insists, "refused_requests_are_never_retryable"),
    (Fault::JoinsNames, "names_in_any_manner_come_whole_and_once"),
    (
        Fault::KeepsLastName,
        "names_in_any_manner_come_whole_and_once",
    ),
    (Fault::KeepsLastPiece, "split_arguments_are_joined"),
    (Fault::KeepsLastPiece, "text_arrives_in_order"),
    (Fault::ListsNothing, "models_are_listed_whole_or_not_at_all"),
    (
        Fault::LosesNewlines,
        "a_cut_at_every_byte_gives_the_same_reply",
    ),
    (
        Fault::MendsArguments,
        "malformed_arguments_are_kept_as_text",
    ),
    (Fault::MindsExtras, "recorded_replies_say_what_they_said"),
    (Fault::MindsNulls, "fields_that_say_nothing_change_nothing"),
    (
        Fault::NamesManners,
        "every_manner_is_rendered_or_said_to_be_impossible",
    ),
    (
        Fault::ReadsPiecesOnly,
        "arguments_in_any_manner_are_the_same",
    ),
    (
        Fault::ReadsStreamsOnly,
        "a_reply_that_is_not_streamed_is_told_the_same",
    ),
    (
        Fault::RefusesIfStrict,
        "strict_requests_are_refused_where_others_are_noted",
    ),
    (Fault::RefusesInWords, "refusals_are_told_as_refusals"),
    (
        Fault::RemembersReplies,
        "calls_and_outcomes_go_back_in_pairs",
    ),
    (
        Fault::RendersAlike,
        "every_manner_is_rendered_or_said_to_be_impossible",
    ),
    (
        Fault::RendersAsUsual,
        "every_manner_is_rendered_or_said_to_be_impossible",
    ),
    (
        Fault::RendersNothing,
        "malformed_arguments_are_kept_as_text",
    ),
    (
        Fault::RendersNothing,
        "mid_stream_error_event_is_classified",
    ),
    (
        Fault::RendersNothing,
        "truncated_arguments_are_not_repaired",
    ),
    (
        Fault::RepairsArguments,
        "truncated_arguments_are_not_repaired",
    ),
    (
        Fault::RepeatsPages,
        "html_instead_of_json_is_a_clear_failure",
    ),
    (Fault::SaysStop, "finish_reasons_map_as_documented"),
    (
        Fault::SendsAnyState,
        "state_of_another_owner_is_withheld_and_noted",
    ),
    (Fault::SendsNull, "empty_arguments_are_an_empty_object"),
    (Fault::ShowsKey, "secrets_never_reach_debug_or_errors"),
    (Fault::SkipsBroken, "broken_events_are_a_protocol_violation"),
    (
        Fault::SkipsManners,
        "every_manner_is_rendered_or_said_to_be_impossible",
    ),
    (Fault::StopsAtEnd, "usage_in_any_manner_is_counted_once"),
    (Fault::SumsUsage, "usage_is_reported_once"),
    (Fault::TakesAllForJson, "custom_calls_come_as_text"),
    (Fault::TakesAnyEnd, "broken_stream_is_interrupted_mid_reply"),
    (Fault::TakesAnyEnd, "ending_without_finish_is_an_error"),
    (
        Fault::TakesCallsForEnds,
        "a_reply_cut_at_any_event_is_an_error_or_whole",
    ),
    (
        Fault::TakesErrorsForEnds,
        "mid_stream_error_event_is_classified",
    ),
    (Fault::TakesFirstCall, "calls_in_one_piece_are_all_taken"),
    (Fault::TellsNothing, "spans_carry_provider_and_model"),
    (Fault::TrustsIds, "calls_with_unusable_ids_are_kept_apart"),
    (
        Fault::TrustsNumbers,
        "calls_in_any_numbering_are_kept_apart",
    ),
    (
        Fault::TrustsReasons,
        "calls_count_whatever_the_finish_reason_says",
    ),
    (Fault::TurnsOutcomes, "calls_and_outcomes_go_back_in_pairs"),
    (Fault::WantsKnownEvents, "unknown_events_are_ignored"),
    (Fault::WantsMarkers, "a_missing_end_marker_loses_nothing"),
];
