//! Tool calls: what to do with each call of a reply, and its outcome.

use std::sync::Arc;
use std::time::Duration;

use crate::approval;
use crate::block::{RanBy, ToolCall};
use crate::fact::{AfterLoss, CachedCall, CallEnd, Fact, ToolUse, TurnEnd};
use crate::failure::{
    Disposition, ModelFailure, ModelFailureKind, Phase, ToolFailure, ToolFailureKind,
};
use crate::find_tools;
use crate::ids::{IdempotencyKey, ToolAttempt, ToolCallId, WaitId};
use crate::limits::{LimitKind, OnLimit};
use crate::outcome::ToolResult;
use crate::reply::FinishReason;
use crate::request::{Attempt, ToolRun};
use crate::time::WallTime;
use crate::tool::{Catalog, InputFormat, Permission, Safety, ToolChoice, UnknownPolicy};
use crate::tool_input::ToolInput;
use crate::tool_loop::action::Action;
use crate::tool_loop::approvals::StartPermission;
use crate::tool_loop::decider::Decider;
use crate::tool_loop::error_texts;
use crate::turn::{BatchCall, CallState, RunningCall, Stage};
use crate::wait::{JobHandle, Question, WaitKind};

/// What to do with a call.
enum CallPlan {
    /// It gets an outcome without running.
    Close(CallEnd, ToolResult),
    /// It runs when a slot is free.
    Run,
    /// It waits for an external answer.
    Wait(WaitKind),
}

impl Decider<'_> {
    /// Decides about every call of a new reply.
    ///
    /// A client tool call that was streamed to its client cannot be taken back. If it must not run, the turn
    /// ends, and no call of the reply runs.
    pub(super) fn plan_calls(&mut self) {
        let Stage::Tools(batch) = &self.turn.stage else {
            return;
        };
        let finish = batch.finish.clone();
        let calls: Vec<Arc<ToolCall>> = batch
            .calls
            .iter()
            .map(|call| Arc::clone(&call.call))
            .collect();
        let plans: Vec<CallPlan> = calls.iter().map(|call| self.plan(call, &finish)).collect();
        let mut planned = calls.iter().zip(&plans);
        let end = planned
            .find(|(call, plan)| matches!(plan, CallPlan::Close(..)) && self.was_streamed(call))
            .map(|(call, _)| end_for_streamed_call(call, &finish));
        for (call, plan) in calls.iter().zip(plans) {
            match plan {
                CallPlan::Close(end, result) => self.close(&call.id, end, result),
                CallPlan::Run | CallPlan::Wait(_) if end.is_some() => {
                    self.close(
                        &call.id,
                        CallEnd::NotRun,
                        error_texts::sibling_call_invalid(),
                    );
                }
                CallPlan::Run => {}
                CallPlan::Wait(kind) => self.open_wait(&call.id, kind),
            }
        }
        if matches!(finish, FinishReason::ContentFilter | FinishReason::Refused) {
            self.end(TurnEnd::Answered(finish));
        } else if let Some(end) = end {
            self.end(end);
        }
    }

    /// Whether the call was streamed to the client.
    fn was_streamed(&self, call: &ToolCall) -> bool {
        let json = matches!(call.input, ToolInput::Json(_));
        self.turn.streams_call(call.name.as_str(), json)
    }

    fn plan(&self, call: &ToolCall, finish: &FinishReason) -> CallPlan {
        let not_run = |result| CallPlan::Close(CallEnd::NotRun, result);
        let setup = &self.turn.setup;
        match finish {
            FinishReason::ContextFull | FinishReason::Length => {
                return not_run(error_texts::cut_off());
            }
            FinishReason::ContentFilter | FinishReason::Refused => {
                return not_run(error_texts::refused());
            }
            FinishReason::Paused
            | FinishReason::Stop
            | FinishReason::StopSequence(_)
            | FinishReason::ToolCalls
            | FinishReason::Unrecognized(_) => {}
        }
        match self.turn.tool_use {
            ToolUse::LastRound(limit) => return not_run(error_texts::limit_reached(Some(limit))),
            ToolUse::FirstRoundOnly => return not_run(error_texts::limit_reached(None)),
            ToolUse::Allowed => {}
        }
        if self.turn.round >= setup.limits.rounds && setup.limits.on_limit == OnLimit::Error {
            return not_run(error_texts::limit_reached(Some(LimitKind::Rounds)));
        }
        // If the budget does not even cover a last round, no model would see the results.
        if let Some(limit) = self.exhausted_budget(self.turn.target) {
            return not_run(error_texts::limit_reached(Some(limit)));
        }
        let Some(tool) = setup.catalog.tool(call.name.as_str()) else {
            return not_run(error_texts::no_such_tool(
                call.name.as_str(),
                &setup.catalog,
            ));
        };
        if tool.is_deferred() {
            return not_run(error_texts::not_loaded(&tool.definition.name));
        }
        if let Some(why) = self.restriction(&call.id) {
            return not_run(error_texts::restricted(&why));
        }
        // Some servers do not know or ignore this setting.
        match &setup.choice {
            ToolChoice::Forbidden => return not_run(error_texts::no_tool_allowed()),
            ToolChoice::Only { tools, .. } if !tools.contains(&tool.definition.name) => {
                return not_run(error_texts::tool_not_allowed(&tool.definition.name));
            }
            ToolChoice::Auto
            | ToolChoice::Named(_)
            | ToolChoice::Only { .. }
            | ToolChoice::Required => {}
        }
        match (&call.input, &tool.definition.input) {
            (ToolInput::Json(input), _) => {
                if let Err(fault) = input.object() {
                    return not_run(error_texts::malformed(fault));
                }
            }
            // Text cannot be validated against the tool's schema.
            (ToolInput::Text(_), InputFormat::Json(_)) => {
                return not_run(error_texts::malformed("free text was sent"));
            }
            (ToolInput::Text(_), InputFormat::Text(_)) => {}
        }
        match (&tool.permission, tool.ran_by) {
            (Permission::Deny(why), _) => {
                CallPlan::Close(CallEnd::Denied, error_texts::denied_by_rule(why))
            }
            (Permission::Allow | Permission::Ask | Permission::Granted { .. }, RanBy::Client) => {
                CallPlan::Wait(WaitKind::ClientResult)
            }
            (Permission::Ask, RanBy::Engine | RanBy::Provider)
                if self.turn.grants.find(tool).is_none() =>
            {
                let subject = Some(approval::subject(tool, &call.input));
                CallPlan::Wait(WaitKind::Approval { subject })
            }
            (
                Permission::Allow | Permission::Ask | Permission::Granted { .. },
                RanBy::Engine | RanBy::Provider,
            ) => CallPlan::Run,
        }
    }

    /// Starts calls in order while slots are free.
    pub(super) fn fill_slots(&mut self) {
        self.request_approvals();
        let parallel = self.turn.setup.limits.parallel_calls.max(1) as usize;
        loop {
            let calls = self.turn.calls();
            if calls.iter().filter(|call| call.holds_slot()).count() >= parallel {
                return;
            }
            let waiting =
                |state: &CallState| matches!(state, CallState::Granted(_) | CallState::Queued);
            let Some(next) = calls.iter().find(|call| waiting(&call.state)).cloned() else {
                return;
            };
            let (call, attempts) = (Arc::clone(&next.call), next.attempts);
            if self.restriction(&call.id).is_some() {
                self.restrict(&call.id, attempts);
                continue;
            }
            if let Some(then) = self.after_forgotten_key(&next) {
                let lost = ToolAttempt {
                    call: call.id.clone(),
                    attempt: attempts,
                };
                let why = "the time is over in which its repetition is recognised";
                let failure = ToolFailure::unknown(ToolFailureKind::Crashed, why);
                self.record_loss(&lost, &failure, then);
                continue;
            }
            let attempt = ToolAttempt {
                call: call.id.clone(),
                attempt: attempts + 1,
            };
            match self.start_permission(&next) {
                StartPermission::Granted(approval) => {
                    self.start(&call, (next.edited, next.repeat_until), attempt, approval);
                }
                // Only a tampered journal leads here; the call must not run.
                StartPermission::Mismatch | StartPermission::NeedsApproval(_) => {
                    self.close(&call.id, CallEnd::NotRun, error_texts::approval_mismatch());
                }
            }
        }
    }

    /// What to do about a call that waited too long to be repeated by its key; `None` if it may start.
    fn after_forgotten_key(&self, call: &BatchCall) -> Option<AfterLoss> {
        let is_over = call.repeat_until.is_some_and(|until| self.now.wall > until);
        if !is_over || !matches!(call.state, CallState::Queued) {
            return None;
        }
        match self.unknown_policy(&call.call.id) {
            UnknownPolicy::Ask => Some(AfterLoss::Ask),
            UnknownPolicy::Report => Some(AfterLoss::Report),
            UnknownPolicy::Retry => None,
        }
    }

    fn start(
        &mut self,
        call: &ToolCall,
        (edited, repeat_until): (Option<Arc<ToolInput>>, Option<WallTime>),
        attempt: ToolAttempt,
        approval: Option<WaitId>,
    ) {
        let setup = &self.turn.setup;
        let Some(tool) = setup.catalog.tool(call.name.as_str()) else {
            // Only a tampered journal leads here; it must not block the turn.
            let result = error_texts::no_such_tool(call.name.as_str(), &setup.catalog);
            return self.close(&call.id, CallEnd::NotRun, result);
        };
        let limits = &setup.limits;
        let time_limit = tool.time_limit.unwrap_or(limits.tool_call);
        let run = ToolRun {
            fresh: attempt.attempt > 1,
            input: edited.as_deref().unwrap_or(&call.input).clone(),
            key: IdempotencyKey::derive(&call.id),
            max_bytes: limits.stored,
            time_limit,
            tool: tool.origin.clone(),
            attempt: attempt.clone(),
        };
        let may_repeat = tool.safety.may_repeat();
        let by_key = tool.safety == Safety::Idempotent;
        let repeat_until =
            repeat_until.or_else(|| by_key.then(|| self.now.wall.after(KEY_LIFETIME)));
        self.decide(Fact::CallStarted {
            approval,
            attempt: attempt.clone(),
            edited,
            may_repeat,
            repeat_until,
            time_limit,
        });
        self.live
            .begin_call(attempt, self.now.mono.after(time_limit));
        self.actions.push(Action::RunTool(Box::new(run)));
    }

    /// Waits for a call that continues elsewhere.
    pub(super) fn resume(&mut self, running: &RunningCall, handle: JobHandle) {
        let name = self
            .turn
            .open_call(&running.attempt.call)
            .map(|call| call.name.clone());
        let Some(tool) = name.and_then(|name| self.turn.setup.catalog.tool(name.as_str())) else {
            return;
        };
        let tool = tool.origin.clone();
        let (answer, attempt) = (running.answer.clone(), running.attempt.clone());
        self.live
            .begin_call(attempt.clone(), self.now.mono.after(running.time_limit));
        self.actions.push(Action::ResumeTool {
            answer,
            attempt,
            handle,
            tool,
        });
    }

    pub(super) fn tool_finished(&mut self, attempt: ToolAttempt, result: ToolResult) {
        if self.running(&attempt).is_none() {
            return self.late_outcome(attempt, &result);
        }
        let result = self.with_edit_note(&attempt.call, result);
        self.close(&attempt.call, CallEnd::Ran, result);
    }

    pub(super) fn tool_cached(
        &mut self,
        attempt: ToolAttempt,
        from: Arc<CachedCall>,
        result: ToolResult,
    ) {
        // The tool did not run, so there is no outcome that could be late.
        if self.running(&attempt).is_none() {
            return;
        }
        let result = self.with_edit_note(&attempt.call, result);
        self.close_from(&attempt.call, CallEnd::Cached, result, Some(from));
    }

    pub(super) fn tool_asked(
        &mut self,
        attempt: &ToolAttempt,
        handle: JobHandle,
        question: Question,
    ) {
        if self.running(attempt).is_some() {
            self.live.end_call(attempt);
            self.open_wait(&attempt.call, WaitKind::Elicitation { handle, question });
        }
    }

    pub(super) fn tool_failed(&mut self, running: &RunningCall, failure: &ToolFailure) {
        self.live.end_call(&running.attempt);
        self.record_loss(
            &running.attempt,
            failure,
            self.after_loss(running, failure.disposition),
        );
    }

    /// Decides about an attempt that ended without an outcome: one policy for all causes.
    pub(super) fn after_loss(&self, running: &RunningCall, disposition: Disposition) -> AfterLoss {
        let RunningCall {
            attempt, handle, ..
        } = running;
        match disposition {
            Disposition::Landed | Disposition::NotSent => AfterLoss::Report,
            Disposition::Unknown => match self.unknown_policy(&attempt.call) {
                UnknownPolicy::Ask => AfterLoss::Ask,
                UnknownPolicy::Report => AfterLoss::Report,
                // An accepted job continues elsewhere; it is polled, never run again.
                UnknownPolicy::Retry if attempt.attempt < MAX_ATTEMPTS && handle.is_none() => {
                    AfterLoss::Repeat
                }
                UnknownPolicy::Retry => AfterLoss::Report,
            },
        }
    }

    /// Records that an attempt ended without an outcome, and what to do about it.
    pub(super) fn record_loss(
        &mut self,
        attempt: &ToolAttempt,
        failure: &ToolFailure,
        then: AfterLoss,
    ) {
        self.live.end_call(attempt);
        self.decide(Fact::CallLost {
            attempt: attempt.clone(),
            disposition: failure.disposition,
            kind: failure.kind,
            message: failure.message.as_str().into(),
            then,
        });
        match then {
            AfterLoss::Ask => self.open_wait(&attempt.call, WaitKind::UnknownOutcome),
            AfterLoss::Repeat => {}
            AfterLoss::Report => {
                let end = match failure.disposition {
                    Disposition::NotSent => CallEnd::NotRun,
                    Disposition::Landed | Disposition::Unknown => CallEnd::Reported,
                };
                let result = match (failure.disposition, failure.kind) {
                    // The model needs to know only what is wrong with the arguments.
                    (Disposition::NotSent, ToolFailureKind::InvalidArguments) => {
                        ToolResult::error(failure.message.as_str())
                    }
                    (disposition, _) => error_texts::lost(disposition, &failure.message),
                };
                let result = self.with_edit_note(&attempt.call, result);
                self.close(&attempt.call, end, result);
            }
        }
    }

    /// Closes a call with its outcome. Decides here, once, how much of it is stored and how much models see.
    pub(super) fn close(&mut self, call: &ToolCallId, end: CallEnd, result: ToolResult) {
        self.close_from(call, end, result, None);
    }

    fn close_from(
        &mut self,
        call: &ToolCallId,
        end: CallEnd,
        result: ToolResult,
        cached: Option<Arc<CachedCall>>,
    ) {
        if let Some(running) = self.turn.calls().iter().find(|open| open.call.id == *call)
            && let CallState::Running(RunningCall { attempt, .. }) = &running.state
        {
            self.live.end_call(&attempt.clone());
        }
        let limits = &self.turn.setup.limits;
        let result = result.cut(limits.stored).unwrap_or(result);
        let shown = (result.size() > limits.shown).then_some(limits.shown);
        let revealed = self.revealed_by(call, &end, &result);
        let result = Arc::new(result);
        self.decide(Fact::CallClosed {
            call: call.clone(),
            end,
            result,
            shown,
            cached,
            revealed,
        });
    }

    /// The tools that this outcome of a call adds to the turn: those that a search found.
    fn revealed_by(
        &self,
        call: &ToolCallId,
        end: &CallEnd,
        result: &ToolResult,
    ) -> Option<Arc<Catalog>> {
        if *end != CallEnd::Ran {
            return None;
        }
        let catalog = &self.turn.setup.catalog;
        let call = self.turn.open_call(call)?;
        let is_search = catalog.tool(call.name.as_str()).is_some_and(find_tools::is);
        let names = is_search.then(|| find_tools::names(result))?;
        catalog.reveal(&names).map(Arc::new)
    }

    /// Stops calls that exceeded their time limit. Their effect is unknown.
    pub(super) fn abort_overdue(&mut self) {
        for attempt in self.live.overdue(self.now) {
            self.live.end_call(&attempt);
            let Some(running) = self.running(&attempt) else {
                continue;
            };
            self.actions
                .push(Action::Abort(Attempt::Tool(attempt.clone())));
            let message = format!("no answer within {} s", running.time_limit.as_secs_f64());
            let failure = ToolFailure::unknown(ToolFailureKind::Timeout, message);
            let then = self.after_loss(&running, failure.disposition);
            self.record_loss(&attempt, &failure, then);
        }
    }

    fn unknown_policy(&self, call: &ToolCallId) -> UnknownPolicy {
        let call = self.turn.open_call(call);
        let tool = call.and_then(|call| self.turn.setup.catalog.tool(call.name.as_str()));
        tool.map(|tool| tool.when_unknown).unwrap_or_default()
    }

    /// Adds a note for the model to any outcome of a call with edited arguments.
    pub(super) fn with_edit_note(&self, id: &ToolCallId, result: ToolResult) -> ToolResult {
        let call = self.turn.calls().iter().find(|call| call.call.id == *id);
        match call.and_then(|call| call.edited.as_deref()) {
            Some(ToolInput::Json(input)) => error_texts::with_edited_arguments(result, input.raw()),
            Some(ToolInput::Text(text)) => error_texts::with_edited_arguments(result, text),
            None => result,
        }
    }
}

/// The end of a turn whose client received a call that it must not run.
fn end_for_streamed_call(call: &ToolCall, finish: &FinishReason) -> TurnEnd {
    match finish {
        FinishReason::ContentFilter
        | FinishReason::ContextFull
        | FinishReason::Length
        | FinishReason::Refused => TurnEnd::Answered(finish.clone()),
        FinishReason::Paused
        | FinishReason::Stop
        | FinishReason::StopSequence(_)
        | FinishReason::ToolCalls
        | FinishReason::Unrecognized(_) => {
            let kind = ModelFailureKind::ProtocolViolation;
            let message = format!(
                "the arguments of a call of `{}` are not a JSON object, and the client was shown them \
                 already; send the request again",
                call.name.as_str()
            );
            TurnEnd::Failed(ModelFailure::new(kind, Phase::MidReply, message))
        }
    }
}

/// How long a call is repeated by its idempotency key, from its first attempt on. Vendors keep keys for a day or more.
const KEY_LIFETIME: Duration = Duration::from_hours(24);
/// The maximum number of attempts of a call whose outcome is unknown, if the policy is to retry.
const MAX_ATTEMPTS: u32 = 3;
