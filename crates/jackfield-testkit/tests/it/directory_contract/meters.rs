//! The contract of `Meters`: each clause catches a mistake.

use std::sync::{Arc, PoisonError};

use async_trait::async_trait;
use jackfield_domain::quota::{Meter, MeterOperation, MeterOutcome};
use jackfield_ports::journal::JournalError;
use jackfield_ports::journal::meters::Meters;
use jackfield_testkit::contract::meters::{CLAUSES, check};

use super::{Mistake, Mistaken, MistakenHarness, is_caught};
use crate::mutants::{Mutant, check_clauses, check_mutants};

#[async_trait]
impl Meters for Mistaken {
    async fn perform(&self, operation: &MeterOperation) -> Result<MeterOutcome, JournalError> {
        let mut operation = operation.clone();
        if let MeterOperation::Admit { quotas, .. } = &mut operation
            && self.has(Mistake::LimitsNoRate)
        {
            for (_, quota) in quotas {
                quota.requests_per_minute = None;
            }
        }
        if let MeterOperation::Correct { meter, seen, .. } = &mut operation
            && self.has(Mistake::CorrectsInAnyCase)
        {
            let meters = vec![Arc::clone(meter)];
            if let MeterOutcome::Seen(meters) =
                self.inner.perform(&MeterOperation::Look { meters }).await?
            {
                *seen = meters
                    .first()
                    .map_or([None, None], |one| [one.day, one.month]);
            }
        }
        if self.has(Mistake::ReadsMetersTooEarly) {
            let mut meters: Vec<Meter> = {
                let known = self.early_meters.lock();
                let known = known.unwrap_or_else(PoisonError::into_inner);
                let known = operation.meters().map(|name| known.get(name).cloned());
                known.map(Option::unwrap_or_default).collect()
            };
            tokio::task::yield_now().await;
            let outcome = operation.apply(&mut meters);
            let mut known = self
                .early_meters
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            known.extend(operation.meters().cloned().zip(meters));
            return Ok(outcome);
        }
        let outcome = self.inner.perform(&operation).await?;
        if let (MeterOutcome::Refused(_), MeterOperation::Admit { quotas, .. }) =
            (&outcome, &mut operation)
            && self.has(Mistake::ChargesTheRefused)
        {
            quotas.truncate(1);
            self.inner.perform(&operation).await?;
        }
        Ok(outcome)
    }
}

#[test]
fn every_clause_says_what_it_demands() {
    check_clauses("Meters", CLAUSES);
}

#[test]
fn every_clause_catches_its_mutant() {
    let mutants = MUTANTS.iter().map(|(mistake, clause)| Mutant {
        caught: is_caught(*mistake, || check::<MistakenHarness>(clause, &[])),
        clause,
        name: format!("{mistake:?}"),
    });
    check_mutants("Meters", CLAUSES, &mutants.collect::<Vec<_>>());
}

const MUTANTS: &[(Mistake, &str)] = &[
    (
        Mistake::LimitsNoRate,
        "operations_have_the_outcomes_of_the_domain",
    ),
    (
        Mistake::ReadsMetersTooEarly,
        "of_operations_at_once_each_sees_the_one_before_it",
    ),
    (
        Mistake::ChargesTheRefused,
        "a_refused_request_takes_nothing",
    ),
    (Mistake::ForgetsAtTheEnd, "a_restart_keeps_meters"),
    (
        Mistake::ReadsMetersTooEarly,
        "replicas_reserve_no_more_than_a_budget",
    ),
    (Mistake::SettlesRepetitions, "a_record_is_settled_once"),
    (
        Mistake::SettlesCountsBesideEstimates,
        "a_count_takes_back_its_estimate",
    ),
    (Mistake::SettlesAtArrival, "totals_are_the_sums_of_records"),
    (Mistake::CorrectsInAnyCase, "a_correction_loses_no_record"),
];
