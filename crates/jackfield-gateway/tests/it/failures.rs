//! What clients are told of a turn that failed.

use std::time::Duration;

use jackfield_domain::fact::TurnEnd;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase, RetryAdvice};
use jackfield_gateway::failures::from_turn_end;

#[test]
fn a_budget_that_is_reserved_for_a_moment_is_told_as_a_rate() {
    let told = |seconds| {
        let kind = ModelFailureKind::BudgetExhausted;
        let failure = ModelFailure {
            advice: RetryAdvice::After(Duration::from_secs(seconds)),
            ..ModelFailure::new(kind, Phase::BeforeSend, "the budget")
        };
        let error = from_turn_end(&TurnEnd::Failed(failure));
        (error.kind.code(), error.kind.may_pass_later())
    };
    assert_eq!(told(120), ("too_many_requests", true));
    assert_eq!(told(3600), ("budget_exhausted", false));
}
