//! Replies: their deltas, their end, their failure, and retries.

use std::sync::Arc;
use std::time::Duration;

use crate::accumulator::{ProtocolViolation, ReplyAccumulator};
use crate::delta::Delta;
use crate::digest::Digest;
use crate::estimate;
use crate::fact::{Fact, Late, ModelCallEnd, ToolUse, TurnEnd};
use crate::failure::{ModelFailure, ModelFailureKind, Phase, RetryAdvice};
use crate::ids::ModelAttempt;
use crate::reply::{FinishReason, ReplyEnd};
use crate::request::Attempt;
use crate::target::TargetReason;
use crate::tool_loop::action::Action;
use crate::tool_loop::decider::Decider;
use crate::tool_loop::targets::NextTarget;
use crate::turn::Stage;
use crate::usage::Usage;

impl Decider<'_> {
    pub(super) fn reply_alive(&mut self, attempt: ModelAttempt) {
        if self.is_in_flight(attempt) {
            self.live.note_life(self.now);
        }
    }

    pub(super) fn reply_counted(&mut self, attempt: ModelAttempt, usage: Usage) {
        if !self.is_in_flight(attempt) {
            return;
        }
        let reply = self.live.touch_reply(self.now);
        if let Some(units) = reply.map(|reply| reply.units()) {
            self.live.record_usage(usage, units);
        }
    }

    pub(super) fn reply_delta(&mut self, attempt: ModelAttempt, delta: &Delta) {
        if !self.is_in_flight(attempt) {
            return;
        }
        let now = self.now;
        match self.live.touch_reply(now).map(|reply| reply.push(delta)) {
            Some(Err(violation)) => {
                self.actions.push(Action::Abort(Attempt::Model(attempt)));
                self.reply_failed(attempt, protocol_failure(&violation));
            }
            Some(Ok(())) => self.live.note_first_token(now),
            None => {}
        }
    }

    pub(super) fn reply_ended(&mut self, attempt: ModelAttempt, end: ReplyEnd) {
        if !self.is_in_flight(attempt) {
            return self.late_usage(attempt, end.usage);
        }
        let Some(open) = self.live.reply().map(ReplyAccumulator::check_ended) else {
            return;
        };
        if let Err(violation) = open {
            let usage = nonzero_usage(end.usage)
                .or_else(|| self.has_reported_usage().then(|| self.usage_so_far()));
            return self.reply_unusable(attempt, protocol_failure(&violation), usage);
        }
        // Some servers report no usage, or report zeros.
        let usage = nonzero_usage(end.usage).unwrap_or_else(|| self.usage_so_far());
        let first_token = self.live.first_token();
        let Some(reply) = self.live.take_reply() else {
            return;
        };
        // Notes are recorded once; every round maps the whole history again.
        let mut end = end;
        end.usage = Some(usage);
        if !attempt.is_compaction() {
            end.notes.extend(self.live.cache.missed(&usage));
        }
        let noted = &self.turn.seen_notes;
        end.notes
            .retain(|note| !noted.contains(&(note.code.clone(), note.path.clone())));
        match reply.finish(end, &self.turn.setup.catalog) {
            Err(violation) => {
                self.reply_unusable(attempt, protocol_failure(&violation), Some(usage));
            }
            Ok(reply) if attempt.is_compaction() => self.compaction_replied(attempt, &reply),
            Ok(reply) => {
                let finish = reply.end.finish.clone();
                self.decide(Fact::ReplyReceived {
                    attempt,
                    reply: Arc::new(reply),
                    first_token,
                    settled: Vec::new(),
                });
                if matches!(self.turn.stage, Stage::Tools(_)) {
                    self.plan_calls();
                } else {
                    self.finish_answer(finish);
                }
            }
        }
    }

    pub(super) fn reply_failed(&mut self, attempt: ModelAttempt, failure: ModelFailure) {
        if !self.is_in_flight(attempt) {
            return;
        }
        // The provider worked if it sent anything, regardless of how the adapter classified the failure.
        let has_output = self.live.reply().is_some_and(|reply| reply.units() > 0);
        let used = has_output || self.has_reported_usage() || failure.may_have_used();
        let usage = used.then(|| self.usage_so_far());
        self.reply_unusable(attempt, failure, usage);
    }

    /// Handles a reply that is unusable but has to be paid for.
    fn reply_unusable(
        &mut self,
        attempt: ModelAttempt,
        failure: ModelFailure,
        usage: Option<Usage>,
    ) {
        let first_token = self.live.first_token();
        let reply = self.live.take_reply();
        if attempt.is_compaction() {
            return self.compaction_failed(attempt, ModelCallEnd::Failed(failure), usage);
        }
        let visible = reply.as_ref().is_some_and(ReplyAccumulator::is_visible);
        let partial = reply.and_then(|reply| reply.partial());
        let next = self.after_failure(attempt, &failure, visible, usage.is_some());
        let at_once = matches!(
            next,
            AfterFailure::Hop | AfterFailure::Next(_) | AfterFailure::Repeat
        );
        let retry_at = match next {
            AfterFailure::Hop
            | AfterFailure::Next(_)
            | AfterFailure::Repeat
            | AfterFailure::Compact => Some(self.now.wall),
            AfterFailure::End => None,
            AfterFailure::Pause(pause) | AfterFailure::Retry(pause) => {
                Some(self.now.wall.after(pause))
            }
        };
        self.decide(Fact::ModelCallEnded {
            at_once,
            attempt,
            first_token,
            partial: partial.clone(),
            retry_at,
            settled: Vec::new(),
            usage,
            why: ModelCallEnd::Failed(failure.clone()),
            withdrawn: false,
        });
        let target = self.turn.target;
        match (next, partial) {
            (AfterFailure::Hop, _) => {
                let next = self.target_after(&failure);
                self.attempt_with(next);
            }
            (AfterFailure::Next(reason), _) => {
                self.attempt_with(NextTarget::without_route(target + 1, Some(reason)));
            }
            (AfterFailure::Repeat, _) => self.attempt_with(NextTarget::without_route(target, None)),
            (AfterFailure::Compact, _) => _ = self.begin_compaction(),
            (AfterFailure::Pause(pause), _) => self.pause(attempt, pause, &failure.message),
            (AfterFailure::Retry(_), _) => {}
            (AfterFailure::End, Some(_)) => self.end(TurnEnd::Interrupted(failure)),
            (AfterFailure::End, None) => self.end(TurnEnd::Failed(failure)),
        }
    }

    /// The usage of the model call in flight: the provider's report, plus an estimate of the rest. The rest is
    /// never zero, because tokens that were generated but did not arrive are not in a report.
    pub(super) fn usage_so_far(&self) -> Usage {
        let (mut used, since) = self.live.reported_usage();
        let since = since.max(usize::from(used.total() > 0));
        let input = match used.input {
            0 if self.live.compacting().is_some() => self.compaction_input(),
            0 => self.turn.next_input(),
            _ => 0,
        };
        let tier = used.tier;
        used += Usage::estimate(input, estimate::tokens(since));
        Usage { tier, ..used }
    }

    fn has_reported_usage(&self) -> bool {
        self.live.reported_usage().0.total() > 0
    }

    /// Records the usage of a finished model call, unless its count is known already; an estimate is replaced.
    fn late_usage(&mut self, attempt: ModelAttempt, usage: Option<Usage>) {
        let was_called = (attempt.round, attempt.attempt) <= (self.turn.round, self.turn.attempts);
        if let Some(usage) = nonzero_usage(usage)
            && was_called
            && !self.turn.has_reported_usage(attempt)
        {
            self.decide(Fact::Late(Late::Usage { attempt, usage }));
        }
    }

    /// Gives up on a model that was waited for for too long.
    pub(super) fn check_idle(&mut self, attempt: ModelAttempt) {
        let Some((until, limit)) = self.live.patience(self.turn) else {
            return;
        };
        if self.now.mono < until {
            return;
        }
        let phase = if self.live.is_visible() {
            Phase::MidReply
        } else {
            Phase::BeforeFirstDelta
        };
        self.actions.push(Action::Abort(Attempt::Model(attempt)));
        self.reply_failed(
            attempt,
            ModelFailure::new(ModelFailureKind::Timeout, phase, limit.to_string()),
        );
    }

    fn finish_answer(&mut self, finish: FinishReason) {
        match (self.turn.tool_use, finish) {
            // The provider needs its reply back unchanged; the next round sends it.
            (ToolUse::FirstRoundOnly, FinishReason::Paused) => self.begin_round(),
            (ToolUse::Allowed | ToolUse::LastRound(_), FinishReason::Paused) => {}
            (ToolUse::LastRound(limit), _) => self.end_limited(limit),
            (ToolUse::Allowed | ToolUse::FirstRoundOnly, finish) => {
                self.end(TurnEnd::Answered(finish));
            }
        }
    }

    /// The decision about a failed attempt: the same target at once or later, the next target, or the end.
    fn after_failure(
        &self,
        attempt: ModelAttempt,
        failure: &ModelFailure,
        visible: bool,
        may_have_used: bool,
    ) -> AfterFailure {
        let setup = &self.turn.setup;
        if visible && !setup.can_supersede {
            return AfterFailure::End;
        }
        // No target and no pause of seconds changes a budget.
        if failure.is_of_budget() {
            let pause = self.pause_after(attempt, failure);
            return pause.map_or(AfterFailure::End, AfterFailure::Pause);
        }
        if setup.route.is_some() {
            return self.after_route_failure(attempt, failure, may_have_used);
        }
        let next = self.turn.target.saturating_add(1);
        let fallback = fallback_reason(failure.kind)
            .filter(|_| setup.model_of(next).is_some())
            .map(AfterFailure::Next);
        let is_too_long = matches!(failure.kind, ModelFailureKind::ContextTooLong { .. });
        if is_too_long && setup.compaction.is_some() {
            // The same request would be too long again.
            return match fallback {
                Some(fallback) => fallback,
                None if self.may_compact(attempt) => AfterFailure::Compact,
                None => AfterFailure::End,
            };
        }
        if failure.advice == RetryAdvice::AtOnce && self.may_repeat_at_once() {
            return AfterFailure::Repeat;
        }
        if let Some(pause) = self.retry_after(attempt, failure) {
            return AfterFailure::Retry(pause);
        }
        fallback.unwrap_or(AfterFailure::End)
    }

    /// Whether the same target may be called once more at once.
    pub(super) const fn may_repeat_at_once(&self) -> bool {
        self.turn.at_once < MAX_AT_ONCE
    }

    /// Whether the conversation can be compacted before the round is tried again.
    pub(super) fn may_compact(&self, attempt: ModelAttempt) -> bool {
        self.turn.compaction_for(attempt.round).is_some()
            && self.exhausted_budget(self.turn.target).is_none()
    }

    /// The pause before a retry; `None` if there is no retry.
    fn retry_after(&self, attempt: ModelAttempt, failure: &ModelFailure) -> Option<Duration> {
        let setup = &self.turn.setup;
        // A model that wrote two unusable replies in a row would write a third.
        if failure.kind == ModelFailureKind::UnusableReply && self.turn.had_unusable_reply {
            return None;
        }
        if self.turn.failures >= setup.limits.model_retries {
            return None;
        }
        match failure.advice {
            RetryAdvice::Never => None,
            RetryAdvice::After(wait) => (wait <= setup.limits.retry_after).then_some(wait),
            RetryAdvice::AtOnce | RetryAdvice::Backoff => {
                Some(self.backoff(attempt, self.turn.failures))
            }
        }
    }

    /// The pause after so many others.
    pub(super) fn backoff(&self, attempt: ModelAttempt, pauses: u32) -> Duration {
        let full = MAX_BACKOFF.min(FIRST_BACKOFF * 2_u32.pow(pauses.min(8)));
        full.mul_f64(self.jitter(attempt))
    }

    /// A factor between 0.5 and 1, deterministic per attempt.
    fn jitter(&self, attempt: ModelAttempt) -> f64 {
        let place = format!("{}.{}", attempt.round, attempt.attempt);
        let hash = Digest::of_parts([self.turn.id.as_str(), &place]).to_u64();
        0.5 + f64::from(u32::try_from(hash >> 32).unwrap_or(0)) / f64::from(u32::MAX) / 2.0
    }

    /// Whether this attempt is the model call in flight, or the one for the summary of a compaction.
    fn is_in_flight(&self, attempt: ModelAttempt) -> bool {
        matches!(self.turn.stage, Stage::Calling(current) if current == attempt)
            || self.live.compacting() == Some(attempt)
    }
}

/// The decision about a failed attempt.
pub(super) enum AfterFailure {
    /// The conversation is compacted, and the same target is called again.
    Compact,
    /// The turn ends.
    End,
    /// Another target of the route is called in the same step.
    Hop,
    /// The next target is called in the same step, for this reason.
    Next(TargetReason),
    /// The turn waits for room in a budget, at most for this time.
    Pause(Duration),
    /// The same target is called again in the same step.
    Repeat,
    /// The same target is called again after this pause.
    Retry(Duration),
}

/// Why the next target is called after a failure of this kind; `None` if the request would fail there, too.
const fn fallback_reason(kind: ModelFailureKind) -> Option<TargetReason> {
    match kind {
        ModelFailureKind::ContextTooLong { .. } => Some(TargetReason::ContextTooLong),
        ModelFailureKind::BudgetExhausted
        | ModelFailureKind::BudgetUnavailable
        | ModelFailureKind::ContentFilter
        | ModelFailureKind::InvalidRequest
        | ModelFailureKind::TooLarge => None,
        ModelFailureKind::Forbidden
        | ModelFailureKind::Interrupted
        | ModelFailureKind::ModelNotFound
        | ModelFailureKind::Overloaded
        | ModelFailureKind::ProtocolViolation
        | ModelFailureKind::RateLimited
        | ModelFailureKind::ServerError
        | ModelFailureKind::Timeout
        | ModelFailureKind::ToolsUnsupported
        | ModelFailureKind::Transport
        | ModelFailureKind::Unauthenticated
        | ModelFailureKind::UnusableReply
        | ModelFailureKind::Unsupported => Some(TargetReason::Fallback),
    }
}

/// A provider's count; zeros do not count, unless the provider says what they cost.
fn nonzero_usage(usage: Option<Usage>) -> Option<Usage> {
    usage.filter(|usage| usage.total() > 0 || usage.billed.is_some())
}

/// The failure for a reply that violates the rules of deltas.
fn protocol_failure(violation: &ProtocolViolation) -> ModelFailure {
    let kind = ModelFailureKind::ProtocolViolation;
    ModelFailure::new(
        kind,
        Phase::MidReply,
        format!("the reply cannot be read: {violation}"),
    )
}

/// The maximum number of attempts of a round that follow a failure at once, with the same target.
const MAX_AT_ONCE: u32 = 2;
/// The first pause, before jitter halves it at most: no pause is shorter than 0.5 s.
const FIRST_BACKOFF: Duration = Duration::from_secs(1);
const MAX_BACKOFF: Duration = Duration::from_secs(8);
