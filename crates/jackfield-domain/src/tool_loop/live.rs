//! What a living turn knows beyond its durable state: lost with the process, rebuilt or given up on recovery.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::accumulator::ReplyAccumulator;
use crate::ids::{ModelAttempt, ToolAttempt, ToolCallId, TurnId};
use crate::time::{MonoTime, Now};

/// Beyond the durable state.
#[derive(Clone, Debug, Default)]
pub(super) struct Live {
    /// Time in which something was under way, so far.
    active: Duration,
    /// Since when something is under way.
    busy_since: Option<MonoTime>,
    deadlines: BTreeMap<ToolAttempt, MonoTime>,
    reply: Option<LiveReply>,
}

#[derive(Clone, Debug)]
struct LiveReply {
    accumulator: ReplyAccumulator,
    heard: MonoTime,
}

impl Live {
    pub(super) fn recovered(active: Duration) -> Self {
        Self {
            active,
            ..Self::default()
        }
    }

    pub(super) const fn active(&self) -> Duration {
        self.active
    }

    pub(super) fn pass_time(&mut self, now: Now) {
        if let Some(since) = self.busy_since {
            self.active = self.active.saturating_add(now.mono.since(since));
            self.busy_since = Some(now.mono);
        }
    }

    pub(super) fn set_busy(&mut self, busy: bool, now: Now) {
        self.busy_since = busy.then_some(now.mono);
    }

    pub(super) fn begin_reply(&mut self, turn: TurnId, attempt: ModelAttempt, now: Now) {
        let accumulator = ReplyAccumulator::new(turn, attempt);
        self.reply = Some(LiveReply {
            accumulator,
            heard: now.mono,
        });
    }

    /// The reply under way, which was just heard of.
    pub(super) fn hear_reply(&mut self, now: Now) -> Option<&mut ReplyAccumulator> {
        self.reply.as_mut().map(|reply| {
            reply.heard = now.mono;
            &mut reply.accumulator
        })
    }

    pub(super) fn reply(&self) -> Option<&ReplyAccumulator> {
        self.reply.as_ref().map(|reply| &reply.accumulator)
    }

    pub(super) fn is_visible(&self) -> bool {
        self.reply().is_some_and(ReplyAccumulator::is_visible)
    }

    pub(super) fn take_reply(&mut self) -> Option<ReplyAccumulator> {
        self.reply.take().map(|reply| reply.accumulator)
    }

    pub(super) fn heard(&self) -> Option<MonoTime> {
        self.reply.as_ref().map(|reply| reply.heard)
    }

    pub(super) fn call_id(&self, index: u32) -> Option<ToolCallId> {
        self.reply().and_then(|reply| reply.call_id(index))
    }

    pub(super) fn begin_call(&mut self, attempt: ToolAttempt, deadline: MonoTime) {
        self.deadlines.insert(attempt, deadline);
    }

    pub(super) fn end_call(&mut self, attempt: &ToolAttempt) {
        self.deadlines.remove(attempt);
    }

    pub(super) fn first_deadline(&self) -> Option<MonoTime> {
        self.deadlines.values().min().copied()
    }

    /// The calls that have taken longer than they may.
    pub(super) fn overdue(&self, now: Now) -> Vec<ToolAttempt> {
        let late = self
            .deadlines
            .iter()
            .filter(|(_, deadline)| **deadline <= now.mono);
        late.map(|(attempt, _)| attempt.clone()).collect()
    }
}
