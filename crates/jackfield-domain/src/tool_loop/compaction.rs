//! Compactions: a model call without tools writes a summary, whose fact replaces the beginning of the
//! conversation. The call is not recorded before it ends: a recovery decides it again.

use std::sync::Arc;

use crate::compaction;
use crate::estimate;
use crate::fact::{Compaction, Fact, ModelCallEnd};
use crate::failure::{ModelFailure, ModelFailureKind, Phase};
use crate::ids::ModelAttempt;
use crate::reply::Reply;
use crate::tool_loop::action::Action;
use crate::tool_loop::decider::Decider;
use crate::turn::Stage;
use crate::usage::Usage;

impl Decider<'_> {
    /// Asks for the summary of the compaction that is due; whether there is one.
    pub(super) fn begin_compaction(&mut self) -> bool {
        let Some((attempt, plan)) = self.turn.due_compaction() else {
            return false;
        };
        let request = Box::new(self.turn.compaction_request(&plan));
        self.live
            .begin_reply(self.turn.id.clone(), attempt, self.now);
        self.actions.push(Action::CallModel { attempt, request });
        true
    }

    /// Replaces the beginning of the conversation by the summary in this reply, and goes on with the round.
    pub(super) fn compaction_replied(&mut self, attempt: ModelAttempt, reply: &Reply) {
        let usage = reply.end.usage;
        let summary = compaction::summary_of(reply);
        let Some((summary, (_, plan))) = summary.zip(self.turn.due_compaction()) else {
            let kind = ModelFailureKind::UnusableReply;
            let failure = ModelFailure::new(kind, Phase::MidReply, NO_SUMMARY);
            return self.compaction_failed(attempt, ModelCallEnd::Failed(failure), usage);
        };
        self.decide(Fact::Compacted(Arc::new(Compaction {
            attempt,
            failure: None,
            messages: plan.replacement(&summary),
            model: Some(self.turn.model().clone()),
            replaced: plan.replaced,
            usage,
        })));
        self.go_on_after_compaction();
    }

    /// Records that there is no summary, and goes on with the whole conversation.
    pub(super) fn compaction_failed(
        &mut self,
        attempt: ModelAttempt,
        why: ModelCallEnd,
        usage: Option<Usage>,
    ) {
        let is_cancelled = why == ModelCallEnd::Cancelled;
        self.decide(Fact::Compacted(Arc::new(Compaction {
            attempt,
            failure: Some(why),
            messages: Vec::new(),
            model: Some(self.turn.model().clone()),
            replaced: 0,
            usage,
        })));
        if !is_cancelled {
            self.go_on_after_compaction();
        }
    }

    /// The estimated input of the request for the summary in flight.
    pub(super) fn compaction_input(&self) -> u64 {
        let Some((_, plan)) = self.turn.due_compaction() else {
            return 0;
        };
        let request = self.turn.compaction_request(&plan);
        let messages = request.messages.iter();
        let messages = messages.map(|message| estimate::message(message));
        messages.fold(estimate::preamble(&request.system, []), u64::saturating_add)
    }

    fn go_on_after_compaction(&mut self) {
        match &self.turn.stage {
            Stage::Ready => self.begin_round(),
            Stage::Retrying(_) => self.next_attempt(),
            Stage::Calling(_) | Stage::Ended(_) | Stage::Tools(_) => {}
        }
    }
}

const NO_SUMMARY: &str = "the summary is empty, refused or not complete";
