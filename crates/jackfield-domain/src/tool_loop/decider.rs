//! The decider computes one step. Facts are applied as soon as they are decided.

use crate::fact::{Fact, Late, TurnEnd};
use crate::ids::ToolAttempt;
use crate::outcome::ToolResult;
use crate::time::Now;
use crate::tool_loop::action::Action;
use crate::tool_loop::input::Input;
use crate::tool_loop::live::LiveState;
use crate::turn::{CallState, RunningCall, Stage, Turn};

/// The state of a step's computation.
pub(super) struct Decider<'a> {
    pub(super) actions: Vec<Action>,
    pub(super) facts: Vec<Fact>,
    pub(super) live: &'a mut LiveState,
    pub(super) now: Now,
    pub(super) turn: &'a mut Turn,
}

impl<'a> Decider<'a> {
    pub(super) const fn new(turn: &'a mut Turn, live: &'a mut LiveState, now: Now) -> Self {
        Self {
            actions: Vec::new(),
            facts: Vec::new(),
            live,
            now,
            turn,
        }
    }

    /// Adds a fact and applies it.
    pub(super) fn decide(&mut self, fact: Fact) {
        self.turn.apply(&fact);
        self.facts.push(fact);
    }

    /// Decides about an input and its consequences.
    pub(super) fn handle(&mut self, input: Input) {
        match input {
            // It is for the decisions about later inputs.
            Input::BreakersSeen(breakers) => return self.live.see_breakers(breakers),
            Input::Delivered(delivery) => self.apply_delivery(&delivery),
            Input::ReplyAlive { attempt } => self.reply_alive(attempt),
            Input::ReplyCounted { attempt, usage } => self.reply_counted(attempt, usage),
            Input::ReplyDelta { attempt, delta } => self.reply_delta(attempt, &delta),
            Input::ReplyEnded { attempt, end } => self.reply_ended(attempt, *end),
            Input::ReplyFailed { attempt, failure } => self.reply_failed(attempt, failure),
            Input::ToolAccepted { attempt, handle } => {
                if self.running(&attempt).is_some() {
                    self.decide(Fact::CallAccepted { attempt, handle });
                }
            }
            Input::ToolAsked {
                attempt,
                handle,
                question,
            } => {
                self.tool_asked(&attempt, handle, question);
            }
            Input::ToolCached {
                attempt,
                from,
                result,
            } => self.tool_cached(attempt, from, result),
            Input::ToolFailed { attempt, failure } => {
                if let Some(running) = self.running(&attempt) {
                    self.tool_failed(&running, &failure);
                }
            }
            Input::ToolFinished { attempt, result } => self.tool_finished(attempt, result),
            Input::Woke => self.handle_wake(),
        }
        self.advance();
    }

    /// Decides everything that needs no further input.
    pub(super) fn advance(&mut self) {
        if matches!(self.turn.stage, Stage::Tools(_)) {
            self.fill_slots();
        }
        // While a compaction is in flight, the next round waits for it.
        if matches!(self.turn.stage, Stage::Ready) && self.live.compacting().is_none() {
            self.next_round();
        }
    }

    /// Ends the turn.
    pub(super) fn end(&mut self, end: TurnEnd) {
        let view = self.turn.view();
        self.decide(Fact::TurnEnded {
            end: end.clone(),
            view,
        });
        self.actions.push(Action::Finish(end));
    }

    /// The running call with this attempt.
    pub(super) fn running(&self, attempt: &ToolAttempt) -> Option<RunningCall> {
        self.turn.calls().iter().find_map(|call| match &call.state {
            CallState::Running(running) if running.attempt == *attempt => Some(running.clone()),
            CallState::Closed(_)
            | CallState::Granted(_)
            | CallState::Lost
            | CallState::Queued
            | CallState::Running(_)
            | CallState::Waiting(_) => None,
        })
    }

    /// Records an outcome that arrived after its call was closed.
    pub(super) fn late_outcome(&mut self, attempt: ToolAttempt, result: &ToolResult) {
        let (is_error, size) = (result.is_error, result.size());
        self.decide(Fact::Late(Late::Outcome {
            attempt,
            is_error,
            size,
        }));
    }

    fn handle_wake(&mut self) {
        if let Some(attempt) = self.live.compacting() {
            return self.check_idle(attempt);
        }
        match &self.turn.stage {
            Stage::Calling(attempt) => self.check_idle(*attempt),
            Stage::Retrying(_) if self.turn.pause.is_some() => self.expire_pause(),
            Stage::Retrying(at) if *at <= self.now.wall => self.attempt_after_pause(),
            Stage::Tools(_) => {
                self.expire_waits();
                self.abort_overdue();
            }
            Stage::Ended(_) | Stage::Ready | Stage::Retrying(_) => {}
        }
    }
}
