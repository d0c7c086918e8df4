//! Recovery: resumes a turn that another process left, from its facts and its inbox alone.

use std::sync::Arc;

use crate::block::RanBy;
use crate::fact::{AfterLoss, CallEnd, Fact, ModelCallEnd, ToolUse, TurnEnd};
use crate::failure::{
    Disposition, ModelFailure, ModelFailureKind, Phase, RetryAdvice, ToolFailure, ToolFailureKind,
};
use crate::ids::{SessionId, ToolCallId, ToolName};
use crate::restrictions::{Restriction, Restrictions};
use crate::target::BreakerSnapshot;
use crate::time::Now;
use crate::tool::UnknownPolicy;
use crate::tool_loop::action::Action;
use crate::tool_loop::cache_misses::CacheWatch;
use crate::tool_loop::decider::Decider;
use crate::tool_loop::live::LiveState;
use crate::tool_loop::{Step, ToolLoop, decider_parts, error_texts};
use crate::turn::{CallState, RunningCall, Stage, Turn};
use crate::wait::{Delivery, in_processing_order};

impl ToolLoop {
    /// Recovers this open turn, with the breakers of its targets that are not closed.
    pub(crate) fn recover_turn(
        session: &SessionId,
        turn: Turn,
        deliveries: &[Delivery],
        now: Now,
        restrictions: Restrictions,
        breakers: Vec<BreakerSnapshot>,
    ) -> (Self, Step) {
        let mut live = LiveState::recovered(turn.active);
        live.cache = CacheWatch::recovered(&turn.last_usage);
        live.see_breakers(breakers);
        let mut recovered = Self {
            live,
            session: session.clone(),
            turn,
        };
        let mut decider = Decider::new(&mut recovered.turn, &mut recovered.live, now);
        decider.recover(deliveries, restrictions);
        let parts = decider_parts(decider);
        let step = recovered.finish(parts, now);
        (recovered, step)
    }
}

impl Decider<'_> {
    fn recover(&mut self, deliveries: &[Delivery], restrictions: Restrictions) {
        self.decide(Fact::TurnResumed {
            nth: self.turn.resume_count + 1,
            restrictions: (!restrictions.tools.is_empty()).then(|| Arc::new(restrictions)),
        });
        let was_calling = matches!(self.turn.stage, Stage::Calling(_));
        for delivery in in_processing_order(deliveries) {
            self.apply_delivery(delivery);
        }
        match &self.turn.stage {
            // The answer to a pause has begun it in this step.
            Stage::Calling(_) if !was_calling => {}
            Stage::Calling(attempt) => {
                let (attempt, why) = (*attempt, ModelCallEnd::Lost);
                let usage = Some(self.usage_so_far());
                self.decide(Fact::ModelCallEnded {
                    attempt,
                    partial: None,
                    retry_at: None,
                    usage,
                    why,
                    at_once: false,
                    first_token: None,
                    settled: Vec::new(),
                    withdrawn: false,
                });
                if self.provider_may_have_acted() {
                    self.end(TurnEnd::Interrupted(lost_provider_reply()));
                } else {
                    self.next_attempt();
                }
            }
            Stage::Retrying(_) if self.turn.pause.is_some() => self.recover_pause(),
            Stage::Retrying(at) => {
                let is_time = *at <= self.now.wall;
                if !self.begin_compaction() && is_time {
                    self.attempt_after_pause();
                }
            }
            Stage::Tools(_) => self.recover_calls(),
            Stage::Ended(_) | Stage::Ready => {}
        }
        self.advance();
    }

    fn recover_calls(&mut self) {
        let open: Vec<(ToolCallId, u32, CallState)> = self
            .turn
            .calls()
            .iter()
            .map(|call| (call.call.id.clone(), call.attempts, call.state.clone()))
            .collect();
        for (call, attempts, state) in open {
            match state {
                CallState::Closed(_) | CallState::Lost => {}
                CallState::Granted(_) | CallState::Queued => self.restrict(&call, attempts),
                CallState::Running(running) => self.recover_running(&running),
                CallState::Waiting(wait) => self.actions.push(Action::OpenWait(wait)),
            }
        }
    }

    /// Closes a call that has not started, or not again, if it is restricted.
    pub(super) fn restrict(&mut self, call: &ToolCallId, attempts: u32) {
        let Some(why) = self.restriction(call) else {
            return;
        };
        let (end, result) = if attempts > 0 {
            (
                CallEnd::Reported,
                error_texts::lost(Disposition::Unknown, &why),
            )
        } else {
            (CallEnd::NotRun, error_texts::restricted(&why))
        };
        self.close(call, end, result);
    }

    /// Whether the lost reply may contain provider tool calls that must not be repeated.
    pub(super) fn provider_may_have_acted(&self) -> bool {
        let tools_allowed = self.turn.tool_use == ToolUse::Allowed;
        tools_allowed
            && self.turn.setup.catalog.iter().any(|tool| {
                tool.ran_by == RanBy::Provider
                    && !tool.safety.may_repeat()
                    && tool.when_unknown != UnknownPolicy::Retry
            })
    }

    fn recover_running(&mut self, running: &RunningCall) {
        if let Some(handle) = &running.handle {
            // A delivery may have resumed it already in this step.
            let resumed = self.actions.iter().any(|action| {
                matches!(action, Action::ResumeTool { attempt, .. } if *attempt == running.attempt)
            });
            if !resumed {
                self.resume(running, handle.clone());
            }
            return;
        }
        let failure =
            ToolFailure::unknown(ToolFailureKind::Crashed, "the process that ran it ended");
        let may_start = self.restriction(&running.attempt.call).is_none();
        // The other side may have forgotten the key since.
        let mut calls = self.turn.calls().iter();
        let call = calls.find(|call| call.call.id == running.attempt.call);
        let until = call.and_then(|call| call.repeat_until);
        let in_time = until.is_none_or(|until| self.now.wall <= until);
        let then = if running.may_repeat && in_time && may_start {
            AfterLoss::Repeat
        } else {
            self.after_crash(running, may_start)
        };
        self.record_loss(&running.attempt, &failure, then);
    }

    /// The policy for unknown outcomes; a restricted call is not repeated.
    fn after_crash(&self, running: &RunningCall, may_start: bool) -> AfterLoss {
        match self.after_loss(running, Disposition::Unknown) {
            AfterLoss::Repeat if !may_start => AfterLoss::Report,
            then @ (AfterLoss::Ask | AfterLoss::Repeat | AfterLoss::Report) => then,
        }
    }

    /// Why this call may not start, if it is restricted.
    pub(super) fn restriction(&self, call: &ToolCallId) -> Option<String> {
        let restrictions = &self.turn.restrictions;
        if restrictions.tools.is_empty() {
            return None;
        }
        let call = self.turn.open_call(call)?;
        let name = ToolName::parse(call.name.as_str()).ok()?;
        restrictions
            .tools
            .get(&name)
            .map(|restriction| match restriction {
                Restriction::Changed => "the tool's definition has changed since".to_owned(),
                Restriction::Denied(why) => why.to_string(),
                Restriction::Gone => "the tool is no longer there".to_owned(),
            })
    }
}

/// A reply was lost in which the provider may have run tools of its own; their effect is unknown.
fn lost_provider_reply() -> ModelFailure {
    let kind = ModelFailureKind::Interrupted;
    let message = "the reply was lost with the process that waited for it, and the provider may have \
                   run tools of its own by then; send a message to go on";
    ModelFailure {
        advice: RetryAdvice::Never,
        ..ModelFailure::new(kind, Phase::BeforeFirstDelta, message)
    }
}
