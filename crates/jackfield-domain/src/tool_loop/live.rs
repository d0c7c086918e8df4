//! The live state of a turn beyond its durable state. It is lost with the process, and rebuilt or discarded on
//! recovery.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::accumulator::ReplyAccumulator;
use crate::ids::{ModelAttempt, ToolAttempt, ToolCallId, TurnId};
use crate::limits::patience::{Patience, PatienceLimit};
use crate::target::BreakerSnapshot;
use crate::time::{MonoTime, Now};
use crate::tool_loop::cache_misses::CacheWatch;
use crate::turn::{CallState, RunningCall, Stage, Turn};
use crate::usage::Usage;

/// The state of a running turn that is not durable.
#[derive(Clone, Debug, Default)]
pub(crate) struct LiveState {
    /// Active time so far.
    active: Duration,
    /// The breakers of the turn's targets that are not closed, as they were seen last.
    breakers: Vec<BreakerSnapshot>,
    pub(super) cache: CacheWatch,
    /// When the current active period began.
    busy_since: Option<MonoTime>,
    deadlines: BTreeMap<ToolAttempt, MonoTime>,
    reply: Option<LiveReply>,
}

#[derive(Clone, Debug)]
struct LiveReply {
    accumulator: ReplyAccumulator,
    attempt: ModelAttempt,
    /// When the model was called.
    began: MonoTime,
    /// The time from then to the first piece.
    first_token: Option<Duration>,
    /// Boxed, because few servers report usage before the end.
    reported: Option<Box<CountedUsage>>,
    last_activity: MonoTime,
    /// When the last piece arrived; at first, when the model was called.
    last_piece: MonoTime,
}

/// A provider's usage report about the reply in flight.
#[derive(Clone, Copy, Debug)]
struct CountedUsage {
    /// The number of the reply's units that the report covers.
    units: usize,
    usage: Usage,
}

impl LiveState {
    pub(crate) fn recovered(active: Duration) -> Self {
        Self {
            active,
            ..Self::default()
        }
    }

    pub(crate) fn see_breakers(&mut self, breakers: Vec<BreakerSnapshot>) {
        self.breakers = breakers;
    }

    pub(super) fn breakers(&self) -> &[BreakerSnapshot] {
        &self.breakers
    }

    pub(super) const fn active(&self) -> Duration {
        self.active
    }

    pub(crate) fn advance(&mut self, now: Now) {
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
            attempt,
            began: now.mono,
            first_token: None,
            reported: None,
            last_activity: now.mono,
            last_piece: now.mono,
        });
    }

    /// Records that the server is not silent.
    pub(super) fn note_life(&mut self, now: Now) {
        if let Some(reply) = &mut self.reply {
            reply.last_activity = now.mono;
        }
    }

    /// The reply in flight; also records that a piece of it arrived.
    pub(crate) fn touch_reply(&mut self, now: Now) -> Option<&mut ReplyAccumulator> {
        self.reply.as_mut().map(|reply| {
            reply.last_activity = now.mono;
            reply.last_piece = now.mono;
            &mut reply.accumulator
        })
    }

    /// Records the time to the first piece of the reply in flight, unless it is known.
    pub(super) fn note_first_token(&mut self, now: Now) {
        if let Some(reply) = &mut self.reply {
            let elapsed = now.mono.since(reply.began);
            reply.first_token.get_or_insert(elapsed);
        }
    }

    /// Sets the time to the first piece of the reply in flight, as it was recorded.
    pub(crate) fn set_first_token(&mut self, first_token: Option<Duration>) {
        if let Some(reply) = &mut self.reply {
            reply.first_token = first_token;
        }
    }

    /// The time to the first piece of the reply in flight, if there was one.
    pub(super) fn first_token(&self) -> Option<Duration> {
        self.reply.as_ref()?.first_token
    }

    /// Records the provider's usage report about the reply in flight, which covers this many units.
    pub(crate) fn record_usage(&mut self, usage: Usage, units: usize) {
        // Some servers that do not count still send a number at the start; a real count includes input.
        if let Some(reply) = self.reply.as_mut().filter(|_| usage.input > 0) {
            reply.reported = Some(Box::new(CountedUsage { units, usage }));
        }
    }

    /// The reported usage of the reply in flight, and the number of units since the report.
    pub(super) fn reported_usage(&self) -> (Usage, usize) {
        let units = self.reply().map_or(0, ReplyAccumulator::units);
        let counted = self
            .reply
            .as_ref()
            .and_then(|reply| reply.reported.as_ref());
        match counted {
            Some(counted) => (counted.usage, units.saturating_sub(counted.units)),
            None => (Usage::default(), units),
        }
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

    /// The attempt at the summary of a compaction that is in flight, if one is.
    pub(crate) fn compacting(&self) -> Option<ModelAttempt> {
        let attempt = self.reply.as_ref()?.attempt;
        attempt.is_compaction().then_some(attempt)
    }

    /// Whether the model call in flight has brought anything.
    fn is_heard(&self) -> bool {
        let has_units = self.reply().is_some_and(|reply| reply.units() > 0);
        has_units || self.reported_usage().0.total() > 0
    }

    /// How long the reply in flight is waited for.
    fn patience_of(turn: &Turn) -> Patience {
        let setup = &turn.setup;
        let is_whole = setup.whole.is_some();
        Patience {
            first_piece: setup.first_byte_of(turn.target).filter(|_| !is_whole),
            is_whole,
            silence: setup.model_idle(),
        }
    }

    /// Until when the model call in flight is waited for, and the limit that ends it then.
    pub(crate) fn patience(&self, turn: &Turn) -> Option<(MonoTime, PatienceLimit)> {
        let reply = self.reply.as_ref()?;
        let patience = Self::patience_of(turn);
        Some(patience.until(self.is_heard(), reply.last_piece, reply.last_activity))
    }

    /// The time of the last piece and of the last sign of life.
    pub(crate) fn last_heard(&self) -> Option<(MonoTime, MonoTime)> {
        let reply = self.reply.as_ref()?;
        Some((reply.last_piece, reply.last_activity))
    }

    /// Supposes that the limit with this message is reached just now, as the facts have neither pieces nor signs of life.
    pub(crate) fn suppose_overdue(
        &mut self,
        turn: &Turn,
        (last_piece, last_activity): (MonoTime, MonoTime),
        message: Option<&str>,
        now: Now,
    ) {
        let patience = Self::patience_of(turn);
        let by_piece = patience.piece_limit(self.is_heard());
        let by_piece = by_piece.filter(|limit| message == Some(&*limit.to_string()));
        let limit = by_piece.map_or(patience.silence, PatienceLimit::time);
        let since = MonoTime::from_start(now.mono.elapsed().saturating_sub(limit));
        if let Some(reply) = &mut self.reply {
            (reply.last_piece, reply.last_activity) = match by_piece {
                Some(_) => (last_piece.max(since), now.mono),
                None => (now.mono, last_activity.max(since)),
            };
        }
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

    /// The calls that exceeded their time limit.
    pub(super) fn overdue(&self, now: Now) -> Vec<ToolAttempt> {
        let late = self
            .deadlines
            .iter()
            .filter(|(_, deadline)| **deadline <= now.mono);
        late.map(|(attempt, _)| attempt.clone()).collect()
    }

    /// Updates the live state after a recorded step, whose facts led to this turn.
    ///
    /// The deltas of a reply are not recorded, so the reply is empty.
    pub(crate) fn sync_to_turn(&mut self, turn: &Turn, now: Now) {
        let in_flight = match &turn.stage {
            Stage::Calling(attempt) => Some(*attempt),
            Stage::Ready | Stage::Retrying(_) => turn.due_compaction().map(|(attempt, _)| attempt),
            Stage::Ended(_) | Stage::Tools(_) => None,
        };
        match in_flight {
            Some(attempt) if self.reply.as_ref().map(|reply| reply.attempt) != in_flight => {
                self.begin_reply(turn.id.clone(), attempt, now);
            }
            Some(_) => {}
            None => self.reply = None,
        }
        let runs = |attempt: &ToolAttempt| running(turn).any(|call| call.attempt == *attempt);
        self.deadlines.retain(|attempt, _| runs(attempt));
        for call in running(turn) {
            let deadline = now.mono.after(call.time_limit);
            self.deadlines
                .entry(call.attempt.clone())
                .or_insert(deadline);
        }
        self.set_busy(self.compacting().is_some() || is_busy(turn), now);
    }
}

/// Whether the turn is active, so that its time counts.
pub(super) fn is_busy(turn: &Turn) -> bool {
    matches!(turn.stage, Stage::Calling(_)) || running(turn).next().is_some()
}

/// The running calls.
fn running(turn: &Turn) -> impl Iterator<Item = &RunningCall> {
    turn.calls().iter().filter_map(|call| match &call.state {
        CallState::Running(running) => Some(running),
        CallState::Closed(_)
        | CallState::Granted(_)
        | CallState::Lost
        | CallState::Queued
        | CallState::Waiting(_) => None,
    })
}
