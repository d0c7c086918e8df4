//! Rounds: when the next one begins, and when there is none.

use crate::fact::{Fact, ToolUse, TurnEnd};
use crate::ids::ModelAttempt;
use crate::limits::{LimitKind, OnLimit};
use crate::reply::FinishReason;
use crate::request::ModelRequest;
use crate::tool::ToolChoice;
use crate::tool_loop::action::Action;
use crate::tool_loop::decider::Decider;

impl Decider<'_> {
    /// Begins the next round, or ends the turn where there can be none.
    pub(super) fn next_round(&mut self) {
        if self.turn.client_expired {
            return self.end(TurnEnd::ClientExpired);
        }
        if self.turn.round > 0 {
            // Calls came although tools were forbidden, or the provider wants to go on for ever.
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

    /// Begins the next round, unless a limit says that there can be none.
    pub(super) fn begin_round(&mut self) {
        let round = self.turn.round + 1;
        let limits = self.turn.setup.limits;
        if round > limits.rounds.max(1) {
            return self.end_limited(LimitKind::Rounds);
        }
        let tools = match self.limit_before(round) {
            Some(Spent::Nothing(limit)) => return self.end_limited(limit),
            Some(Spent::LastRound(limit)) => match limits.on_limit {
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
        self.call_model(ModelAttempt { round, attempt: 1 }, tools);
    }

    /// Tries the current round's model call again.
    pub(super) fn next_attempt(&mut self) {
        let attempt = ModelAttempt {
            round: self.turn.round.max(1),
            attempt: self.turn.attempts + 1,
        };
        self.call_model(attempt, self.turn.tool_use);
    }

    pub(super) fn end_limited(&mut self, limit: LimitKind) {
        let is_error = self.turn.setup.limits.on_limit == OnLimit::Error;
        self.end(TurnEnd::Limited { is_error, limit });
    }

    fn call_model(&mut self, attempt: ModelAttempt, tools: ToolUse) {
        let active = self.live.active();
        self.decide(Fact::ModelCallStarted {
            active,
            attempt,
            tools,
        });
        self.live
            .begin_reply(self.turn.id.clone(), attempt, self.now);
        let setup = &self.turn.setup;
        let choice = match (tools, &setup.choice) {
            (ToolUse::FirstRoundOnly | ToolUse::LastRound(_), _) => ToolChoice::Forbidden,
            // Stubs are not to be called.
            (ToolUse::Allowed, _) if setup.catalog.is_empty() && !self.turn.tools.is_empty() => {
                ToolChoice::Forbidden
            }
            (ToolUse::Allowed, choice) if attempt.round == 1 => choice.clone(),
            // What had to be called has been called; what may be called stays the same.
            (ToolUse::Allowed, ToolChoice::Only { tools, .. }) => ToolChoice::Only {
                required: false,
                tools: tools.clone(),
            },
            (ToolUse::Allowed, ToolChoice::Forbidden) => ToolChoice::Forbidden,
            (ToolUse::Allowed, ToolChoice::Auto | ToolChoice::Named(_) | ToolChoice::Required) => {
                ToolChoice::Auto
            }
        };
        let request = ModelRequest {
            choice,
            messages: self.turn.messages.clone(),
            model: setup.model.clone(),
            settings: std::sync::Arc::clone(&setup.settings),
            strict: setup.strict,
            system: std::sync::Arc::clone(&setup.system),
            tools: std::sync::Arc::clone(&self.turn.tools),
        };
        self.actions.push(Action::CallModel {
            attempt,
            request: Box::new(request),
        });
    }

    /// What the allowance and the guard say before a round begins.
    fn limit_before(&self, round: u32) -> Option<Spent> {
        if self.turn.no_progress {
            return Some(Spent::LastRound(LimitKind::NoProgress));
        }
        let allowance = self.turn.setup.allowance;
        if allowance
            .active
            .is_some_and(|active| self.live.active() >= active)
            && round > 1
        {
            return Some(Spent::LastRound(LimitKind::ActiveTime));
        }
        let tokens = allowance.tokens?;
        // What the last reply and its request took is the least that the next request will take.
        let output = self.turn.setup.settings.max_output_tokens;
        let output = u64::from(output.unwrap_or(RESERVED_OUTPUT));
        let reserve = self.turn.last_usage.total().saturating_add(output);
        let left = tokens.saturating_sub(self.turn.usage.total());
        if left < reserve {
            Some(Spent::Nothing(LimitKind::Tokens))
        } else if left < reserve.saturating_mul(2) {
            Some(Spent::LastRound(LimitKind::Tokens))
        } else {
            None
        }
    }
}

/// What is left to spend.
enum Spent {
    /// Enough for one last round.
    LastRound(LimitKind),
    /// Not even that.
    Nothing(LimitKind),
}

/// The output tokens reserved for a reply whose length nobody limited.
const RESERVED_OUTPUT: u32 = 4096;
