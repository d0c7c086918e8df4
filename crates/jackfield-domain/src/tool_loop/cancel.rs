//! Cancels a turn from any state, in one step. Every call gets an outcome, and text that has arrived is kept.

use crate::accumulator::ReplyAccumulator;
use crate::fact::{AfterLoss, CallEnd, Fact, ModelCallEnd, TurnEnd};
use crate::failure::{Disposition, ToolFailure, ToolFailureKind};
use crate::ids::ToolCallId;
use crate::request::Attempt;
use crate::tool_loop::action::Action;
use crate::tool_loop::decider::Decider;
use crate::tool_loop::error_texts;
use crate::turn::{CallState, Stage};
use crate::wait::{CancelCause, Wait, WaitEnd, WaitKind};

impl Decider<'_> {
    pub(super) fn cancel(&mut self, cause: CancelCause) {
        if let Some(attempt) = self.live.compacting() {
            let usage = Some(self.usage_so_far());
            self.live.take_reply();
            self.actions.push(Action::Abort(Attempt::Model(attempt)));
            self.compaction_failed(attempt, ModelCallEnd::Cancelled, usage);
        }
        match &self.turn.stage {
            Stage::Ended(_) => return,
            Stage::Calling(attempt) => {
                let attempt = *attempt;
                let usage = Some(self.usage_so_far());
                let first_token = self.live.first_token();
                let partial = self
                    .live
                    .take_reply()
                    .as_ref()
                    .and_then(ReplyAccumulator::partial);
                self.actions.push(Action::Abort(Attempt::Model(attempt)));
                let (retry_at, why) = (None, ModelCallEnd::Cancelled);
                self.decide(Fact::ModelCallEnded {
                    attempt,
                    partial,
                    retry_at,
                    usage,
                    why,
                    at_once: false,
                    first_token,
                    settled: Vec::new(),
                    withdrawn: false,
                });
            }
            Stage::Ready | Stage::Retrying(_) => self.cancel_pause(cause),
            Stage::Tools(batch) => {
                let open: Vec<_> = batch
                    .calls
                    .iter()
                    .map(|c| (c.call.id.clone(), c.attempts, c.state.clone()))
                    .collect();
                for (call, attempts, state) in open {
                    self.cancel_call(&call, attempts, state, cause);
                }
            }
        }
        self.end(TurnEnd::Cancelled(cause));
    }

    fn cancel_call(
        &mut self,
        call: &ToolCallId,
        attempts: u32,
        state: CallState,
        cause: CancelCause,
    ) {
        match state {
            CallState::Closed(_) => {}
            CallState::Running(running) => {
                self.actions
                    .push(Action::Abort(Attempt::Tool(running.attempt.clone())));
                let message = "the turn was cancelled while it ran";
                let failure = ToolFailure::unknown(ToolFailureKind::Cancelled, message);
                self.record_loss(&running.attempt, &failure, AfterLoss::Report);
            }
            CallState::Granted(_) | CallState::Lost | CallState::Queued => {
                self.close_unstarted(call, attempts > 0);
            }
            CallState::Waiting(wait) => {
                self.cancel_wait(&wait, cause);
                self.abandon(&wait);
                let may_have_run = match wait.kind {
                    WaitKind::Approval { .. } => attempts > 0,
                    WaitKind::Budget { .. } | WaitKind::ClientResult => false,
                    WaitKind::Elicitation { .. } | WaitKind::UnknownOutcome => true,
                };
                self.close_unstarted(call, may_have_run);
            }
        }
    }

    /// Closes a wait of a cancelled turn.
    pub(super) fn cancel_wait(&mut self, wait: &Wait, cause: CancelCause) {
        let end = match cause {
            CancelCause::Asked => WaitEnd::Cancelled,
            CancelCause::Superseded => WaitEnd::Superseded,
        };
        self.decide(Fact::WaitClosed {
            end,
            subject: None,
            wait: wait.id.clone(),
        });
    }

    fn close_unstarted(&mut self, call: &ToolCallId, may_have_run: bool) {
        if may_have_run {
            let result = error_texts::lost(Disposition::Unknown, "the turn was cancelled");
            self.close(call, CallEnd::Reported, result);
        } else {
            self.close(
                call,
                CallEnd::Cancelled,
                error_texts::cancelled_before_start(),
            );
        }
    }
}
