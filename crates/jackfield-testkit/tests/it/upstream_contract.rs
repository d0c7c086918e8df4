//! The contract of `Upstream`, kept by an adapter for a toy vendor, and broken by it in many ways.

#![expect(clippy::expect_used, reason = "helpers of tests fail the test")]

mod toy;
mod wire;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use jackfield_testkit::contract::upstream::{CLAUSES, VITAL, check};

use self::toy::{Fault, ToyHarness};
use crate::mutants::{Mutant, check_clauses, check_mutants};

/// An adapter without faults keeps every clause.
mod kept {
    use super::{Fault, ToyHarness};

    jackfield_testkit::upstream_contract!(ToyHarness(Fault::None));
}

/// A fault can be excepted, with a reason.
mod excepted {
    use super::{Fault, ToyHarness};

    jackfield_testkit::upstream_contract!(ToyHarness(Fault::BuffersAll), except: {
        dropping_the_call_closes_the_connection => "this one waits for all of a body",
        pieces_come_as_they_arrive => "this one waits for all of a body",
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
        let mutants = threads.into_iter();
        mutants
            .map(|thread| thread.join().expect("the thread of a mutant ends"))
            .collect()
    });
    check_mutants("Upstream", CLAUSES, &mutants);
}

#[test]
fn a_vital_clause_has_no_exception() {
    for clause in VITAL {
        assert!(CLAUSES.iter().any(|known| known.name == *clause));
        let exceptions = [(*clause, "it never worked")];
        assert!(fails(Fault::ShowsKey, clause, &exceptions));
    }
}

#[test]
fn every_clause_says_what_it_demands() {
    check_clauses("Upstream", CLAUSES);
}

fn fails(fault: Fault, clause: &str, exceptions: &[(&str, &str)]) -> bool {
    let run = || check(&ToyHarness(fault), clause, exceptions);
    catch_unwind(AssertUnwindSafe(run)).is_err()
}

/// Each fault, and the clause that is there for it.
const BROKEN: &[(Fault, &str)] = &[
    (Fault::AnswersOnlySuccess, "any_status_is_a_reply"),
    (Fault::BuffersAll, "pieces_come_as_they_arrive"),
    (
        Fault::ClaimsUnsent,
        "a_connection_that_breaks_before_the_reply_may_have_been_sent",
    ),
    (Fault::DropsQueries, "requests_arrive_unchanged"),
    (
        Fault::DropsUnknownHeaders,
        "headers_arrive_but_for_the_named_ones",
    ),
    (Fault::EndsAfterErrors, "an_error_of_a_body_is_final"),
    (Fault::FollowsRedirects, "any_status_is_a_reply"),
    (Fault::ForgetsPhase, "connect_failure_is_before_send"),
    (Fault::ForgetsPhase, "a_body_that_breaks_off_is_an_error"),
    (Fault::HoldsOn, "dropping_the_call_closes_the_connection"),
    (Fault::JoinsHeaders, "headers_arrive_but_for_the_named_ones"),
    (Fault::KeepsAccounts, "the_adapters_headers_are_added"),
    (Fault::ListsMore, "the_documented_endpoints_are_served"),
    (
        Fault::LosesNewlines,
        "a_body_is_the_same_bytes_however_it_is_cut",
    ),
    (Fault::LosesPieces, "an_abandoned_wait_loses_nothing"),
    (Fault::NamesItself, "headers_arrive_but_for_the_named_ones"),
    (
        Fault::PassesTraces,
        "an_unserved_request_is_refused_before_it_is_sent",
    ),
    (Fault::PostsAll, "requests_arrive_unchanged"),
    (
        Fault::ReadsText,
        "compressed_and_foreign_bodies_stay_as_they_are",
    ),
    (Fault::ReplacesLists, "the_adapters_headers_are_added"),
    (Fault::ReplacesVersions, "the_adapters_headers_are_added"),
    (Fault::Retries, "one_call_makes_one_http_request"),
    (
        Fault::ReturnsConnections,
        "reply_headers_come_but_for_those_of_the_connection",
    ),
    (
        Fault::ReturnsCookies,
        "reply_headers_come_but_for_those_of_the_connection",
    ),
    (Fault::ReturnsKeys, "the_key_does_not_come_back"),
    (
        Fault::ReturnsOrigins,
        "reply_headers_come_but_for_those_of_the_connection",
    ),
    (
        Fault::ReturnsTypesOnly,
        "reply_headers_come_but_for_those_of_the_connection",
    ),
    (Fault::RewritesBodies, "requests_arrive_unchanged"),
    (Fault::SendsConnections, "connection_headers_stay_behind"),
    (
        Fault::SendsCookies,
        "client_credentials_and_cookies_stay_behind",
    ),
    (
        Fault::SendsCredentials,
        "client_credentials_and_cookies_stay_behind",
    ),
    (Fault::SendsNamedHeaders, "connection_headers_stay_behind"),
    (
        Fault::ServesAll,
        "an_unserved_request_is_refused_before_it_is_sent",
    ),
    (
        Fault::KeepsItsKey,
        "own_keys_replace_the_adapters_or_are_refused",
    ),
    (Fault::ShowsKey, "secrets_never_reach_debug_or_errors"),
    (Fault::ShowsRequests, "secrets_never_reach_debug_or_errors"),
    (Fault::TakesAnyChunk, "broken_framing_is_an_error"),
    (Fault::TakesAnyEnd, "a_body_that_breaks_off_is_an_error"),
];
