//! The budgets that the model calls of a turn count for.
//!
//! A call is settled before the step that ends it is committed: if the process dies in between, the turn is recovered,
//! and the record of the call, which is stored once, says what it used.

use std::sync::Arc;

use jackfield_domain::fact::{Envelope, Fact};
use jackfield_domain::ids::ModelAttempt;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::setup::Setup;
use jackfield_domain::spending::{self, EndedCall, OpenedTurn};
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
    /// When the turn was opened.
    opened: WallTime,
}

impl TurnBudgets {
    /// Those of this turn; `None` if it counts for none.
    pub(crate) fn of(shared: &EngineState, turn: &ToolLoop) -> Option<Self> {
        let has_budgets = !turn.turn().setup().budgets.is_empty();
        has_budgets.then(|| Self {
            began: None,
            durability: shared.journal.durability(turn.session()),
            opened: WallTime::from_millis(0),
        })
    }

    /// When the turn was opened, once that step was tracked.
    pub(crate) const fn opened(&self) -> WallTime {
        self.opened
    }

    /// Notes when the turn was opened, and when the model calls of a step began.
    pub(crate) fn track(&mut self, step: &Envelope) {
        for fact in &step.facts {
            if let Fact::TurnOpened { .. } = fact {
                self.opened = step.now.wall;
            }
            if let Fact::ModelCallStarted { attempt, .. } = fact {
                self.began = Some((*attempt, step.now.wall));
            }
        }
    }

    /// Settles the model calls that end in these steps of the turn, or whose counts come late. Returns whether what they
    /// used is stored; if it is not, the steps must not be committed, as the budgets would never count it.
    pub(crate) async fn settle(
        &mut self,
        shared: &EngineState,
        turn: &ToolLoop,
        steps: &[Envelope],
    ) -> bool {
        let turn = turn.turn();
        let setup = turn.setup();
        let opened = OpenedTurn {
            at: self.opened,
            id: turn.id(),
        };
        for step in steps {
            for fact in &step.facts {
                let counted = fact.usage().map(|(attempt, _)| attempt);
                let Some(attempt) = counted.or_else(|| ended(fact)) else {
                    continue;
                };
                let target = turn.target_of(attempt);
                let model = setup.model_of(target).unwrap_or(&setup.model);
                if setup.has_own_key(model) {
                    continue;
                }
                let Some((_, usage)) = fact.usage() else {
                    let id = spending::call_id(&opened, attempt);
                    budgets::release(shared, &id, &setup.budgets).await;
                    continue;
                };
                let began = self.began.filter(|(began, _)| *began == attempt);
                let call = EndedCall {
                    at: began.map_or(step.now.wall, |(_, at)| at),
                    attempt,
                    ended: step.now.wall,
                    first_token: first_token(fact),
                    model: model.clone(),
                    price: setup.price_of(target).cloned(),
                    usage,
                };
                let mut record = spending::record_of_call(&opened, setup, call);
                record.repeats_facts = self.durability == Durability::Durable;
                crash::point("before-settle");
                if budgets::settle(shared, &record).await.is_none() {
                    return false;
                }
                crash::point("after-settle");
            }
            self.track(step);
        }
        true
    }
}

/// The call of a turn with this setup, if it counts for budgets.
pub(crate) fn call(
    turn: &OpenedTurn<'_>,
    setup: &Setup,
    attempt: ModelAttempt,
    request: &ModelRequest,
) -> Option<BudgetedCall> {
    if setup.budgets.is_empty() || setup.has_own_key(&request.model) {
        return None;
    }
    let targets = 0..setup.targets();
    let mut own = targets.filter(|target| setup.model_of(*target) == Some(&request.model));
    let price = own.next().and_then(|target| setup.price_of(target));
    let id: Arc<str> = spending::call_id(turn, attempt);
    Some(BudgetedCall::of(id, &setup.budgets, request, price))
}

/// The model call that a fact ends.
pub(crate) fn ended(fact: &Fact) -> Option<ModelAttempt> {
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
