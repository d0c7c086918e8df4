//! Rounds: when the next one begins, and when the turn ends instead.

use std::sync::Arc;

use crate::fact::{Fact, ToolUse, TurnEnd};
use crate::ids::ModelAttempt;
use crate::limits::{LimitKind, OnLimit};
use crate::reply::FinishReason;
use crate::request::{InTurn, ModelRequest};
use crate::settings::CacheMode;
use crate::tool::ToolChoice;
use crate::tool_loop::action::Action;
use crate::tool_loop::decider::Decider;
use crate::tool_loop::targets::NextTarget;

impl Decider<'_> {
    /// Begins the next round, or ends the turn if there can be none.
    pub(super) fn next_round(&mut self) {
        if self.turn.client_expired {
            return self.end(TurnEnd::ClientExpired);
        }
        if self.turn.round > 0 {
            // The model made calls although tools were forbidden, or the provider keeps pausing.
            match self.turn.tool_use {
                ToolUse::LastRound(limit) => return self.end_limited(limit),
                ToolUse::FirstRoundOnly => {
                    return self.end(TurnEnd::Answered(FinishReason::ToolCalls));
                }
                ToolUse::Allowed => {}
            }
        }
        self.begin_round();
    }

    /// Begins the next round, unless a limit forbids it.
    pub(super) fn begin_round(&mut self) {
        let round = self.turn.round + 1;
        let limits = self.turn.setup.limits;
        if round > limits.rounds.max(1) {
            return self.end_limited(LimitKind::Rounds);
        }
        let next = self.target_of_round();
        let limit = self.limit_before(round, next.target);
        let has_budget = limit.is_none();
        let tools = match limit {
            Some(Budget::Nothing(limit)) => return self.end_limited(limit),
            Some(Budget::LastRound(limit)) => match limits.on_limit {
                OnLimit::Answer => ToolUse::LastRound(limit),
                OnLimit::Error => return self.end_limited(limit),
            },
            None if round > 1 && !self.turn.setup.tools_after_first_round => {
                ToolUse::FirstRoundOnly
            }
            None if round >= limits.rounds
                && limits.on_limit == OnLimit::Answer
                && !self.turn.setup.catalog.is_empty() =>
            {
                ToolUse::LastRound(LimitKind::Rounds)
            }
            None => ToolUse::Allowed,
        };
        // A provider that paused needs its reply back, and the last round before a limit has no rest for a summary.
        if has_budget && self.turn.tool_use == ToolUse::Allowed && self.begin_compaction() {
            return;
        }
        self.call_model(ModelAttempt { round, attempt: 1 }, tools, next);
    }

    /// Makes the model call of the current round again, after one that was lost or a compaction.
    pub(super) fn next_attempt(&mut self) {
        let next = self.target_again();
        self.attempt_with(next);
    }

    /// Makes the model call of the current round again, after a pause.
    pub(super) fn attempt_after_pause(&mut self) {
        let next = self.target_after_pause();
        self.attempt_with(next);
    }

    /// Makes the model call of the current round again, with this target.
    pub(super) fn attempt_with(&mut self, next: NextTarget) {
        if let Some(limit) = self.exhausted_budget(next.target) {
            return self.end_limited(limit);
        }
        let attempt = ModelAttempt {
            round: self.turn.round.max(1),
            attempt: self.turn.attempts + 1,
        };
        self.call_model(attempt, self.turn.tool_use, next);
    }

    pub(super) fn end_limited(&mut self, limit: LimitKind) {
        let is_error = self.turn.setup.limits.on_limit == OnLimit::Error;
        self.end(TurnEnd::Limited { is_error, limit });
    }

    fn call_model(&mut self, attempt: ModelAttempt, tools: ToolUse, next: NextTarget) {
        let NextTarget { choice, target } = next;
        let active = self.live.active();
        self.decide(Fact::ModelCallStarted {
            active,
            attempt,
            choice,
            reserved: Vec::new(),
            target,
            tools,
        });
        self.live
            .begin_reply(self.turn.id.clone(), attempt, self.now);
        let setup = &self.turn.setup;
        let choice = match (tools, &setup.choice) {
            (ToolUse::FirstRoundOnly | ToolUse::LastRound(_), _) => ToolChoice::Forbidden,
            // The only tools are stubs, which must not be called.
            (ToolUse::Allowed, _)
                if setup.catalog.offered().next().is_none() && !self.turn.tools().is_empty() =>
            {
                ToolChoice::Forbidden
            }
            (ToolUse::Allowed, choice) if attempt.round == 1 => choice.clone(),
            // The required call was made; the allowed tools stay the same.
            (ToolUse::Allowed, ToolChoice::Only { tools, .. }) => ToolChoice::Only {
                required: false,
                tools: tools.clone(),
            },
            (ToolUse::Allowed, ToolChoice::Forbidden) => ToolChoice::Forbidden,
            (ToolUse::Allowed, ToolChoice::Auto | ToolChoice::Named(_) | ToolChoice::Required) => {
                ToolChoice::Auto
            }
        };
        let mut messages = self.turn.messages.clone();
        let is_off = setup.settings.cache == Some(CacheMode::Off);
        let request = ModelRequest {
            choice,
            turn: Some(InTurn {
                conversation: None,
                own_point: !is_off && messages.add_cache_point(),
                rounds: setup.limits.rounds,
            }),
            messages,
            model: setup.model_of(target).unwrap_or(&setup.model).clone(),
            searchable: Arc::new(setup.catalog.searchable().collect()),
            settings: Arc::clone(&setup.settings),
            strict: setup.strict,
            system: Arc::clone(&setup.system),
            tools: Arc::clone(self.turn.tools()),
            tools_as_text: self.turn.takes_tools_as_text(target),
            whole: setup.whole.is_some(),
        };
        self.live.cache.ask(&request);
        self.actions.push(Action::CallModel {
            attempt,
            request: Box::new(request),
        });
    }

    /// The budget that does not cover another call of this target, if any: its request, and the longest reply
    /// that it may give.
    pub(super) fn exhausted_budget(&self, target: u32) -> Option<LimitKind> {
        match self.remaining_budget(target) {
            Some(Budget::Nothing(limit)) => Some(limit),
            Some(Budget::LastRound(_)) | None => None,
        }
    }

    /// The limit that applies before a round with this target begins, if any.
    fn limit_before(&self, round: u32, target: u32) -> Option<Budget> {
        let rest = self.remaining_budget(target);
        if matches!(rest, Some(Budget::Nothing(_))) {
            return rest;
        }
        if self.turn.no_progress {
            return Some(Budget::LastRound(LimitKind::NoProgress));
        }
        let allowance = self.turn.setup.allowance;
        if allowance
            .active
            .is_some_and(|active| self.live.active() >= active)
            && round > 1
        {
            return Some(Budget::LastRound(LimitKind::ActiveTime));
        }
        rest
    }

    /// What the token and cost budgets have left, if it does not cover a round with this target and a last one
    /// after it. The maximum usage of a call is reserved here, and settled by its fact.
    pub(super) fn remaining_budget(&self, target: u32) -> Option<Budget> {
        let setup = &self.turn.setup;
        let allowance = setup.allowance;
        if allowance.tokens.is_none() && allowance.cost.is_none() {
            return None;
        }
        let used = self.turn.usage();
        let input = self.turn.next_input();
        let output = setup.settings.max_output_tokens;
        let output = u64::from(output.unwrap_or(RESERVED_OUTPUT));
        let tokens = allowance.tokens.and_then(|tokens| {
            let reserve = input.saturating_add(output);
            Budget::from_remaining(
                tokens.saturating_sub(used.total()),
                reserve,
                LimitKind::Tokens,
            )
        });
        let tier = setup.settings.tier();
        let price = setup.price_of(target);
        let reserve = price.map(|price| price.reserve(tier, input, output));
        let cost = allowance
            .cost
            .and_then(|cost| match (reserve, self.turn.counted_cost()) {
                (Some(reserve), Some(spent)) => {
                    let left = cost.less(spent).as_picos();
                    Budget::from_remaining(left, reserve.as_picos(), LimitKind::Cost)
                }
                (None, _) if allowance.unpriced => None,
                // The cost of a call is unknown; a turn should not begin like this.
                (None, _) | (_, None) => Some(Budget::Nothing(LimitKind::Cost)),
            });
        match (tokens, cost) {
            (Some(Budget::Nothing(limit)), _) | (_, Some(Budget::Nothing(limit))) => {
                Some(Budget::Nothing(limit))
            }
            (tokens, cost) => tokens.or(cost),
        }
    }
}

/// The rest of a budget.
pub(super) enum Budget {
    /// Enough for one last round.
    LastRound(LimitKind),
    /// Not even that.
    Nothing(LimitKind),
}

impl Budget {
    /// The rest of a budget if a round needs `reserve` of it, and a last round the same amount.
    const fn from_remaining(left: u64, reserve: u64, limit: LimitKind) -> Option<Self> {
        if left < reserve {
            Some(Self::Nothing(limit))
        } else if left < reserve.saturating_mul(2) {
            Some(Self::LastRound(limit))
        } else {
            None
        }
    }
}

/// The output tokens reserved for a reply without a length limit.
const RESERVED_OUTPUT: u32 = 4096;
