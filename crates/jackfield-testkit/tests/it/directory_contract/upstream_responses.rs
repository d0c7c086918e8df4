//! The contract of `UpstreamResponses`: each clause catches a mistake.

use async_trait::async_trait;
use jackfield_domain::digest::Digest;
use jackfield_domain::time::WallTime;
use jackfield_ports::journal::JournalError;
use jackfield_ports::journal::upstream_responses::{UpstreamResponse, UpstreamResponses};
use jackfield_testkit::contract::upstream_responses::{CLAUSES, check};

use super::{Mistake, Mistaken, MistakenHarness, is_caught};
use crate::mutants::{Mutant, check_clauses, check_mutants};

#[async_trait]
impl UpstreamResponses for Mistaken {
    async fn store_upstream_response(
        &self,
        response: &UpstreamResponse,
        now: WallTime,
    ) -> Result<(), JournalError> {
        if self.has(Mistake::KeepsTheFirstResponse)
            && self
                .find_upstream_response(&response.place)
                .await?
                .is_some()
        {
            return Ok(());
        }
        let is_late = self.has(Mistake::KeepsResponsesThatAreOver);
        let now = if is_late {
            WallTime::from_millis(0)
        } else {
            now
        };
        self.inner.store_upstream_response(response, now).await
    }

    async fn find_upstream_response(
        &self,
        place: &Digest,
    ) -> Result<Option<UpstreamResponse>, JournalError> {
        self.inner.find_upstream_response(place).await
    }
}

#[test]
fn every_clause_says_what_it_demands() {
    check_clauses("UpstreamResponses", CLAUSES);
}

#[test]
fn every_clause_catches_its_mutant() {
    let mutants = MUTANTS.iter().map(|(mistake, clause)| Mutant {
        caught: is_caught(*mistake, || check::<MistakenHarness>(clause, &[])),
        clause,
        name: format!("{mistake:?}"),
    });
    check_mutants("UpstreamResponses", CLAUSES, &mutants.collect::<Vec<_>>());
}

const MUTANTS: &[(Mistake, &str)] = &[
    (
        Mistake::KeepsTheFirstResponse,
        "a_response_is_found_by_its_place",
    ),
    (Mistake::ForgetsAtTheEnd, "every_process_finds_a_response"),
    (
        Mistake::KeepsResponsesThatAreOver,
        "responses_that_are_over_are_deleted",
    ),
];
