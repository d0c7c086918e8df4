//! Approvals: whether a call may start, under which answer, and when somebody has to be asked again.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::approval;
use crate::digest::Digest;
use crate::fact::{CallEnd, Fact};
use crate::failure::Disposition;
use crate::ids::{ToolCallId, WaitId};
use crate::outcome::ToolResult;
use crate::policy::Permission;
use crate::tool_input::{JsonInput, ToolInput};
use crate::tool_loop::decider::Decider;
use crate::tool_loop::error_texts;
use crate::turn::{BatchCall, CallState};
use crate::wait::{Answer, Approval, Delivery, UnknownAnswer, Wait, WaitEnd, WaitKind};

/// Whether a call may start.
pub(super) enum StartPermission {
    /// Somebody allowed something else.
    Mismatch,
    /// It may: nobody has to be asked, or this question was answered.
    Granted(Option<WaitId>),
    /// Somebody has to be asked about this first.
    NeedsApproval(Digest),
}

impl Decider<'_> {
    /// Whether a call may start as it stands: with what it would be sent now.
    pub(super) fn leave(&self, call: &BatchCall) -> StartPermission {
        let Some(tool) = self.turn.setup.catalog.tool(call.call.name.as_str()) else {
            // It is not started in any case.
            return StartPermission::Granted(None);
        };
        let subject = || approval::subject(tool, sent(call));
        if let CallState::Granted(granted) = &call.state {
            // The first records do not say what was allowed.
            return if granted.subject.is_none_or(|allowed| allowed == subject()) {
                StartPermission::Granted(Some(granted.wait.clone()))
            } else {
                StartPermission::Mismatch
            };
        }
        match &tool.permission {
            Permission::Granted { wait, .. } => StartPermission::Granted(Some(wait.clone())),
            Permission::Allow | Permission::Deny(_) => StartPermission::Granted(None),
            Permission::Ask => match self.turn.grants.of(tool) {
                Some(grant) => StartPermission::Granted(Some(grant.wait.clone())),
                // Whoever allowed the first try allowed this one: the two are the same as one.
                None if call.attempts > 0 && tool.safety.may_repeat() => {
                    StartPermission::Granted(None)
                }
                None => StartPermission::NeedsApproval(subject()),
            },
        }
    }

    /// Asks about calls that are to be made again and that somebody allowed once: an approval is used
    /// up by the try that it let start.
    pub(super) fn ask_again(&mut self) {
        let queued = |call: &&BatchCall| matches!(call.state, CallState::Queued);
        let wanted: Vec<(ToolCallId, Digest)> = self
            .turn
            .calls()
            .iter()
            .filter(queued)
            .filter(|call| self.restriction(&call.call.id).is_none())
            .filter_map(|call| match self.leave(call) {
                StartPermission::NeedsApproval(subject) => Some((call.call.id.clone(), subject)),
                StartPermission::Mismatch | StartPermission::Granted(_) => None,
            })
            .collect();
        for (call, subject) in wanted {
            let subject = Some(subject);
            self.open_wait(&call, WaitKind::Approval { subject });
        }
    }

    /// What an answer lets run, if it lets its call run: what was asked about, unless it was changed.
    pub(super) fn allowed(&self, wait: &Wait, answer: &Answer) -> Option<Digest> {
        let call = self.open_call(&wait.call)?;
        match (answer, &wait.kind) {
            (
                Answer::Approval(Approval::Granted { edited, .. }),
                WaitKind::Approval { subject },
            ) => match edited {
                Some(fields) => self.subject_of(call, &input(fields)),
                None => *subject,
            },
            (Answer::UnknownOutcome(UnknownAnswer::Retry), _) => self.subject_of(call, sent(call)),
            (
                Answer::Approval(_)
                | Answer::ClientResult(_)
                | Answer::Elicitation(_)
                | Answer::UnknownOutcome(_),
                _,
            ) => None,
        }
    }

    /// Answers all questions about a tool by the answer that allowed its calls for the whole session.
    pub(super) fn grant_others(&mut self, delivery: &Delivery) {
        let covered: Vec<Wait> = self
            .turn
            .waits()
            .filter(|wait| {
                let tool = self.open_call(&wait.call).and_then(|call| {
                    let name = call.call.name.as_str();
                    self.turn.setup.catalog.tool(name)
                });
                matches!(wait.kind, WaitKind::Approval { .. })
                    && tool.is_some_and(|tool| self.turn.grants.of(tool).is_some())
            })
            .cloned()
            .collect();
        for wait in covered {
            let answer = Answer::Approval(Approval::Granted {
                edited: None,
                for_session: true,
            });
            self.decide(Fact::WaitClosed {
                subject: self.allowed(&wait, &answer),
                end: WaitEnd::Answered {
                    answer,
                    by: Arc::clone(&delivery.by),
                    delivery: delivery.id.clone(),
                },
                wait: wait.id,
            });
        }
    }

    /// What becomes of a call that nobody allowed: one that was made before may still have taken effect.
    pub(super) fn unapproved(&self, id: &ToolCallId, why: &str) -> (CallEnd, ToolResult) {
        if self.open_call(id).is_none_or(|call| call.attempts == 0) {
            return (CallEnd::Denied, error_texts::unapproved(why));
        }
        let why = format!("it was to be made again, but {why}");
        let told = error_texts::lost(Disposition::Unknown, &why);
        (CallEnd::Reported, self.told_of_edit(id, told))
    }

    fn open_call(&self, id: &ToolCallId) -> Option<&BatchCall> {
        self.turn.calls().iter().find(|call| call.call.id == *id)
    }

    fn subject_of(&self, call: &BatchCall, input: &ToolInput) -> Option<Digest> {
        let tool = self.turn.setup.catalog.tool(call.call.name.as_str())?;
        Some(approval::subject(tool, input))
    }
}

/// What a call is sent.
fn sent(call: &BatchCall) -> &ToolInput {
    call.edited.as_deref().unwrap_or(&call.call.input)
}

/// What a call is sent whose arguments an approver changed.
fn input(fields: &Map<String, Value>) -> ToolInput {
    ToolInput::Json(JsonInput::from(fields.clone()))
}
