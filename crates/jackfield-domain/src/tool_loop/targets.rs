//! Targets: which one the next attempt calls, and what follows when one of a route's fails.

use crate::failure::{ModelFailure, RetryAdvice};
use crate::ids::ModelAttempt;
use crate::limits::OnLimit;
use crate::routing::{ChoiceInput, Chosen, Fault, choose};
use crate::target::{TargetChoice, TargetReason};
use crate::tool_loop::decider::Decider;
use crate::tool_loop::replies::AfterFailure;
use crate::tool_loop::rounds::Budget;
use crate::turn::Stage;
use std::sync::Arc;

/// A target, and why it is called, if that is more than staying at it.
pub(super) struct NextTarget {
    pub(super) choice: Option<Arc<TargetChoice>>,
    pub(super) target: u32,
}

impl NextTarget {
    /// A target of a turn without a route, or the one that is called again.
    pub(super) fn without_route(target: u32, reason: Option<TargetReason>) -> Self {
        let choice = reason.map(|reason| {
            Arc::new(TargetChoice {
                breakers: Vec::new(),
                reason,
            })
        });
        Self { choice, target }
    }
}

impl Decider<'_> {
    /// The target of a round that begins: the one of the round before, or of an earlier request.
    pub(super) fn target_of_round(&self) -> NextTarget {
        let turn = &*self.turn;
        if turn.round > 0 {
            self.choose(Some(turn.target), TargetReason::Fallback)
        } else {
            self.choose(turn.setup.affinity, TargetReason::Strategy)
        }
    }

    /// The target of the attempt after one that was lost, or after a compaction.
    pub(super) fn target_again(&self) -> NextTarget {
        self.choose(Some(self.turn.target), TargetReason::Fallback)
    }

    /// The target of the attempt after a pause.
    pub(super) fn target_after_pause(&self) -> NextTarget {
        self.choose(None, TargetReason::Fallback)
    }

    /// The target after a failure, for this reason.
    pub(super) fn target_after(&self, failure: &ModelFailure) -> NextTarget {
        let reason = match Fault::of(failure.kind) {
            Fault::ContentFilter => TargetReason::ContentFilter,
            Fault::ContextTooLong => TargetReason::ContextTooLong,
            Fault::Client | Fault::Down(_) | Fault::Inability | Fault::Transient => {
                TargetReason::Fallback
            }
        };
        self.choose(None, reason)
    }

    fn choose(&self, preferred: Option<u32>, otherwise: TargetReason) -> NextTarget {
        let (turn, breakers) = (&*self.turn, self.live.breakers());
        if turn.setup.route.is_none() {
            return NextTarget::without_route(turn.target, None);
        }
        let mut left = turn.left_targets();
        let all = left.clone();
        left.retain(|target| self.can_afford(*target));
        // If none can be paid for, the turn ends, whatever the breakers are.
        let breakers = if left.is_empty() { &[] } else { breakers };
        let left = if left.is_empty() { all } else { left };
        let chosen = choose(&ChoiceInput {
            breakers,
            left: &left,
            now: self.now.wall,
            preferred,
        });
        // None is left after a compaction that failed: the request is made again as it was.
        let Some(chosen) = chosen else {
            return NextTarget::without_route(turn.target, None);
        };
        let target = chosen.target();
        let is_same = turn.round > 0 && target == turn.target;
        let reason = match chosen {
            Chosen::Preferred(_) => TargetReason::Affinity,
            Chosen::First(_) => otherwise,
            Chosen::LastLeft(_) => TargetReason::LastLeft,
        };
        let is_told = !is_same || !breakers.is_empty() || reason == TargetReason::LastLeft;
        let choice = is_told.then(|| {
            Arc::new(TargetChoice {
                breakers: breakers.to_vec(),
                reason,
            })
        });
        NextTarget { choice, target }
    }

    /// Whether the budgets cover the next call of this target. What ends the turn must not depend on breakers, which no
    /// fact would tell then.
    fn can_afford(&self, target: u32) -> bool {
        let begins = matches!(self.turn.stage, Stage::Ready);
        let is_last_enough = !begins || self.turn.setup.limits.on_limit == OnLimit::Answer;
        match self.remaining_budget(target) {
            None => true,
            Some(Budget::LastRound(_)) => is_last_enough,
            Some(Budget::Nothing(_)) => false,
        }
    }

    /// What follows when a target of a route failed: the same one at once, the next one, a pause, or the end.
    pub(super) fn after_route_failure(
        &self,
        attempt: ModelAttempt,
        failure: &ModelFailure,
        may_have_used: bool,
    ) -> AfterFailure {
        // Tools of the provider may have run, and their outcome is unknown.
        if may_have_used && self.provider_may_have_acted() {
            return AfterFailure::End;
        }
        let fault = Fault::of(failure.kind);
        if fault == Fault::Client {
            return AfterFailure::End;
        }
        if failure.advice == RetryAdvice::AtOnce && self.may_repeat_at_once() {
            return AfterFailure::Repeat;
        }
        let setup = &self.turn.setup;
        let hops = self.turn.hops_after(failure);
        let targets = self.turn.hop_targets();
        if !hops.left(&targets).is_empty() {
            return AfterFailure::Hop;
        }
        if fault == Fault::ContextTooLong {
            return if self.may_compact(attempt) {
                AfterFailure::Compact
            } else {
                AfterFailure::End
            };
        }
        let has_more = hops.pauses() < setup.limits.model_retries;
        if !has_more || hops.left_after_pause(&targets).is_empty() {
            return AfterFailure::End;
        }
        let asked = match failure.advice {
            RetryAdvice::After(wait) => Some(wait),
            RetryAdvice::AtOnce | RetryAdvice::Backoff | RetryAdvice::Never => None,
        };
        match asked {
            Some(wait) if wait <= setup.limits.retry_after => AfterFailure::Retry(wait),
            // The others may be back earlier than this one.
            Some(_) if hops.left_after_pause(&targets).len() < 2 => AfterFailure::End,
            Some(_) | None => AfterFailure::Retry(self.backoff(attempt, hops.pauses())),
        }
    }
}
