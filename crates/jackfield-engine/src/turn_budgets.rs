//! The budgets that the model calls of a turn count for.
//!
//! A call is settled before the step that ends it is committed: if the process dies in between, the turn is recovered,
//! and the record of the call, which is stored once, says what it used.

use std::sync::Arc;

use jackfield_domain::fact::{Envelope, Fact};
use jackfield_domain::ids::{ModelAttempt, TurnId};
use jackfield_domain::request::ModelRequest;
use jackfield_domain::setup::Setup;
use jackfield_domain::spending::{self, EndedCall};
use jackfield_domain::time::WallTime;
use jackfield_domain::tool_loop::ToolLoop;

use crate::budgets::{self, BudgetedCall};
use crate::crash;
use crate::options::Durability;
use crate::state::EngineState;

/// The budgets of a turn, and its call in flight.
pub(crate) struct TurnBudgets {
    /// When the last model call began.
    began: Option<(ModelAttempt, WallTime)>,
    durability: Durability,
}

impl TurnBudgets {
    /// Those of this turn; `None` if it counts for none.
    pub(crate) fn of(shared: &EngineState, turn: &ToolLoop) -> Option<Self> {
        let has_budgets = !turn.turn().setup().budgets.is_empty();
        has_budgets.then(|| Self {
            began: None,
            durability: shared.journal.durability(turn.session()),
        })
    }

    /// Notes when the model calls of a step began.
    pub(crate) fn track(&mut self, step: &Envelope) {
        for fact in &step.facts {
            if let Fact::ModelCallStarted { attempt, .. } = fact {
                self.began = Some((*attempt, step.now.wall));
            }
        }
    }

    /// Settles the model calls that end in these steps of the turn.
    pub(crate) async fn settle(
        &mut self,
        shared: &EngineState,
        turn: &ToolLoop,
        steps: &[Envelope],
    ) {
        let turn = turn.turn();
        let setup = turn.setup();
        for step in steps {
            for fact in &step.facts {
                let Some(attempt) = ended(fact) else {
                    continue;
                };
                let Some((_, usage)) = fact.usage() else {
                    let id = spending::call_id(turn.id(), attempt);
                    budgets::release(shared, &id, &setup.budgets).await;
                    continue;
                };
                let began = self.began.filter(|(began, _)| *began == attempt);
                let target = turn.target_of(attempt);
                let call = EndedCall {
                    at: began.map_or(step.now.wall, |(_, at)| at),
                    attempt,
                    ended: step.now.wall,
                    first_token: first_token(fact),
                    model: setup.model_of(target).unwrap_or(&setup.model).clone(),
                    price: setup.price_of(target).cloned(),
                    usage,
                };
                let mut record = spending::record_of_call(turn.id(), setup, call);
                record.repeats_facts = self.durability == Durability::Durable;
                crash::point("before-settle");
                budgets::settle(shared, &record).await;
                crash::point("after-settle");
            }
            self.track(step);
        }
    }
}

/// The call of a turn with this setup, if it counts for budgets.
pub(crate) fn call(
    turn: &TurnId,
    setup: &Setup,
    attempt: ModelAttempt,
    request: &ModelRequest,
) -> Option<BudgetedCall> {
    if setup.budgets.is_empty() {
        return None;
    }
    let targets = 0..setup.targets();
    let mut own = targets.filter(|target| setup.model_of(*target) == Some(&request.model));
    let price = own.next().and_then(|target| setup.price_of(target));
    let id: Arc<str> = spending::call_id(turn, attempt);
    Some(BudgetedCall::of(id, &setup.budgets, request, price))
}

/// The model call that a fact ends.
fn ended(fact: &Fact) -> Option<ModelAttempt> {
    if let Fact::ModelCallEnded { attempt, .. } | Fact::ReplyReceived { attempt, .. } = fact {
        return Some(*attempt);
    }
    if let Fact::Compacted(compaction) = fact {
        return Some(compaction.attempt);
    }
    None
}

fn first_token(fact: &Fact) -> Option<std::time::Duration> {
    if let Fact::ModelCallEnded { first_token, .. } | Fact::ReplyReceived { first_token, .. } = fact
    {
        return *first_token;
    }
    None
}
