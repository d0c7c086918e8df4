//! The contract of `ChatModel`, kept by an adapter for a toy vendor, and broken by it in many ways.

#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "helpers of tests fail the test, and know only the faults and manners that are theirs"
)]

mod acme;
mod calls;
mod echo;
mod harness;
mod wire;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::Instant;

use jackfield_testkit::contract::chat_model::{CLAUSES, VITAL, check};
use jackfield_testkit::server::TIME_LIMIT;

use self::acme::{Fault, Form};
use self::harness::AcmeHarness;
use crate::mutants::{Mutant, check_clauses, check_mutants};

/// An adapter without faults keeps every clause.
mod kept {
    use super::{AcmeHarness, Fault, Form};

    jackfield_testkit::chat_model_contract!(AcmeHarness(Fault::None, Form::Lines));
}

/// So does one whose server ends lines with CRLF and has words in its last event.
mod kept_with_crlf {
    use super::{AcmeHarness, Fault, Form};

    jackfield_testkit::chat_model_contract!(AcmeHarness(Fault::None, Form::Crlf));
}

/// So does one that can do nothing but answer in words, in one document.
mod kept_with_words_alone {
    use super::{AcmeHarness, Fault, Form};

    jackfield_testkit::chat_model_contract!(AcmeHarness(Fault::None, Form::Words));
}

/// A fault can be excepted, with a reason.
mod excepted {
    use super::{AcmeHarness, Fault, Form};

    jackfield_testkit::chat_model_contract!(AcmeHarness(Fault::ForgetsDelay, Form::Lines), except: {
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

#[test]
fn a_server_with_crlf_does_not_excuse_a_fault() {
    for (fault, clause) in [
        (Fault::BuffersAll, "slow_stream_is_not_an_error"),
        (Fault::DropsLastWords, "text_arrives_in_order"),
        (Fault::TakesAnyEnd, "ending_without_finish_is_an_error"),
    ] {
        assert!(
            failure(&AcmeHarness(fault, Form::Crlf), clause, &[]).is_some(),
            "{fault:?}"
        );
    }
}

#[test]
fn a_failure_says_why_and_shows_the_place_the_framing_and_the_bytes() {
    let harness = AcmeHarness(Fault::LosesNewlines, Form::Lines);
    let clause = "a_cut_at_every_byte_gives_the_same_reply";
    let message = failure(&harness, clause, &[]).unwrap();
    let known = CLAUSES.iter().find(|known| known.name == clause).unwrap();
    let first = r#"bytes 0 to 16: "{\"from\":\"anvil\"}""#;
    for expected in [known.text, known.why, "Chunked, status 200", first] {
        assert!(message.contains(expected), "{expected}: {message}");
    }
}

#[test]
fn all_manners_that_are_missing_or_usual_are_named_at_once() {
    let clause = "every_manner_is_rendered_or_said_to_be_impossible";
    for (fault, expected) in [
        (
            Fault::SkipsManners,
            "[IndexReused, NameLate] are neither rendered nor named",
        ),
        (
            Fault::SkipsUsual,
            "[ArgumentsMissing] look like the usual form on the wire",
        ),
        (
            Fault::NamesUsual,
            "NameLate is said to be usual, and rendered in another form",
        ),
    ] {
        let message = failure(&AcmeHarness(fault, Form::Lines), clause, &[]).unwrap();
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn the_cause_of_a_failure_comes_before_any_time_out() {
    // It ends while the server still waits to go on.
    let harness = AcmeHarness(Fault::MindsRoles, Form::Lines);
    let started = Instant::now();
    let message = failure(&harness, "slow_stream_is_not_an_error", &[]).unwrap();
    assert!(
        message.contains("an event that acme does not send"),
        "{message}"
    );
    assert!(started.elapsed() < TIME_LIMIT);
}

fn fails(fault: Fault, clause: &str, exceptions: &[(&str, &str)]) -> bool {
    failure(&AcmeHarness(fault, Form::Lines), clause, exceptions).is_some()
}

/// The message with which a clause fails.
fn failure(harness: &AcmeHarness, clause: &str, exceptions: &[(&str, &str)]) -> Option<String> {
    let run = || check(harness, clause, exceptions);
    let payload = catch_unwind(AssertUnwindSafe(run)).err()?;
    Some(
        payload
            .downcast_ref::<String>()
            .cloned()
            .unwrap_or_default(),
    )
}

/// Each fault, and the clause that is there for it.
const BROKEN: &[(Fault, &str)] = &[
    (Fault::AddsCached, "usage_totals_hold_their_parts"),
    (
        Fault::AddsTemperature,
        "settings_are_sent_with_their_values",
    ),
    (
        Fault::AsksOneModel,
        "every_change_of_a_request_is_sent_or_noted",
    ),
    (Fault::AsksTwice, "one_call_makes_one_http_request"),
    (Fault::HidesLife, "a_server_that_is_alive_is_not_silent"),
    (Fault::ForgetsItsLease, "a_call_is_not_sent_after_its_lease"),
    (Fault::BuffersAll, "slow_stream_is_not_an_error"),
    (Fault::ChoosesFirst, "the_choice_of_tools_is_sent_or_noted"),
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
    (
        Fault::CutsOutcomes,
        "conversations_keep_their_order_and_authors",
    ),
    (Fault::DropsImages, "declared_media_are_sent"),
    (Fault::DropsLateWords, "text_after_calls_is_kept"),
    (
        Fault::DropsRefusals,
        "conversations_keep_their_order_and_authors",
    ),
    (Fault::DropsTogether, "settings_are_sent_with_their_values"),
    (Fault::DropsZeros, "settings_are_sent_with_their_values"),
    (
        Fault::EditsState,
        "state_of_texts_and_calls_goes_back_as_it_came",
    ),
    (Fault::EmptiesTypes, "tools_are_sent_whole"),
    (
        Fault::EscapesWords,
        "conversations_keep_their_order_and_authors",
    ),
    (
        Fault::ExchangesAuthors,
        "conversations_keep_their_order_and_authors",
    ),
    (
        Fault::ExchangesChoices,
        "the_choice_of_tools_is_sent_or_noted",
    ),
    (Fault::ExchangesDescriptions, "tools_are_sent_whole"),
    (
        Fault::ExchangesOutcomes,
        "calls_and_outcomes_go_back_in_pairs",
    ),
    (
        Fault::ExchangesSampling,
        "settings_are_sent_with_their_values",
    ),
    (Fault::ForcesCalls, "the_choice_of_tools_is_sent_or_noted"),
    (
        Fault::ForgetsCallState,
        "state_of_texts_and_calls_goes_back_as_it_came",
    ),
    (Fault::ForgetsDelay, "rate_limit_reports_the_servers_delay"),
    (Fault::ForgetsDescriptions, "tools_are_sent_whole"),
    (
        Fault::ForgetsHistory,
        "conversations_keep_their_order_and_authors",
    ),
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
    (Fault::ForgetsSystem, "the_system_prompt_is_sent_as_such"),
    (
        Fault::ForgetsTextState,
        "state_of_texts_and_calls_goes_back_as_it_came",
    ),
    (Fault::GivesUp, "overload_is_retryable"),
    (Fault::GivesUp, "server_errors_are_retryable"),
    (
        Fault::HalvesTemperature,
        "settings_are_sent_with_their_values",
    ),
    (
        Fault::HidesFailures,
        "every_change_of_a_request_is_sent_or_noted",
    ),
    (Fault::HidesFailures, "failed_outcomes_are_marked_or_noted"),
    (Fault::HoldsOn, "dropping_the_call_closes_the_connection"),
    (
        Fault::IgnoresSettings,
        "every_change_of_a_request_is_sent_or_noted",
    ),
    (
        Fault::IgnoresSettings,
        "settings_are_sent_with_their_values",
    ),
    (
        Fault::IgnoresStrict,
        "strict_requests_are_refused_where_others_are_noted",
    ),
    (Fault::Insists, "auth_failure_is_never_retryable"),
    (Fault::Insists, "refused_requests_are_never_retryable"),
    (Fault::JoinsNames, "names_in_any_manner_come_whole_and_once"),
    (Fault::KeepsFirstStop, "settings_are_sent_with_their_values"),
    (
        Fault::KeepsLastName,
        "names_in_any_manner_come_whole_and_once",
    ),
    (Fault::KeepsLastPiece, "split_arguments_are_joined"),
    (Fault::KeepsLastPiece, "text_arrives_in_order"),
    (Fault::ListsNothing, "models_are_listed_whole_or_not_at_all"),
    (Fault::LosesItems, "tools_are_sent_whole"),
    (
        Fault::LosesNewlines,
        "a_cut_at_every_byte_gives_the_same_reply",
    ),
    (Fault::MarksAllFailed, "failed_outcomes_are_marked_or_noted"),
    (
        Fault::MarksFirstFailed,
        "failed_outcomes_are_marked_or_noted",
    ),
    (
        Fault::MendsArguments,
        "malformed_arguments_are_kept_as_text",
    ),
    (Fault::MindsExtras, "recorded_replies_say_what_they_said"),
    (Fault::MindsNulls, "fields_that_say_nothing_change_nothing"),
    (Fault::MovesReasoning, "reasoning_goes_back_as_it_came"),
    (
        Fault::MovesState,
        "state_of_texts_and_calls_goes_back_as_it_came",
    ),
    (
        Fault::MovesTexts,
        "conversations_keep_their_order_and_authors",
    ),
    (Fault::NamesCalls, "outcomes_name_their_tools"),
    (Fault::NamesFirstTool, "outcomes_name_their_tools"),
    (
        Fault::NamesManners,
        "every_manner_is_rendered_or_said_to_be_impossible",
    ),
    (Fault::NamesParts, "outcomes_name_their_tools"),
    (
        Fault::NamesUsual,
        "every_manner_is_rendered_or_said_to_be_impossible",
    ),
    (
        Fault::PutsSystemIntoWords,
        "the_system_prompt_is_sent_as_such",
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
    (Fault::RepeatsSystem, "the_system_prompt_is_sent_as_such"),
    (
        Fault::RoundsNumbers,
        "conversations_keep_their_order_and_authors",
    ),
    (Fault::SaysStop, "finish_reasons_map_as_documented"),
    (
        Fault::SendsAnyMark,
        "state_of_another_owner_is_withheld_and_noted",
    ),
    (
        Fault::SendsAnyState,
        "state_of_another_owner_is_withheld_and_noted",
    ),
    (Fault::SendsNull, "empty_arguments_are_an_empty_object"),
    (
        Fault::KeepsItsKey,
        "own_keys_replace_the_adapters_or_are_refused",
    ),
    (
        Fault::PaysForAll,
        "own_keys_replace_the_adapters_or_are_refused",
    ),
    (Fault::ShowsKey, "secrets_never_reach_debug_or_errors"),
    (Fault::SkipsBroken, "broken_events_are_a_protocol_violation"),
    (
        Fault::SkipsManners,
        "every_manner_is_rendered_or_said_to_be_impossible",
    ),
    (
        Fault::SkipsUsual,
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
    (
        Fault::TakesRulesForWords,
        "conversations_keep_their_order_and_authors",
    ),
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
    (
        Fault::TurnsOutcomes,
        "conversations_keep_their_order_and_authors",
    ),
    (Fault::WantsKnownEvents, "unknown_events_are_ignored"),
    (Fault::WantsMarkers, "a_missing_end_marker_loses_nothing"),
];
