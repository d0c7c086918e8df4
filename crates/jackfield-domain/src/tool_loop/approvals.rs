//! Approvals: whether a call may start, by which approval, and when another one is needed.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::approval;
use crate::digest::Digest;
use crate::fact::{CallEnd, Fact};
use crate::failure::Disposition;
use crate::ids::{ToolCallId, WaitId};
use crate::outcome::ToolResult;
use crate::tool::Permission;
use crate::tool_input::{JsonInput, ToolInput};
use crate::tool_loop::decider::Decider;
use crate::tool_loop::error_texts;
use crate::turn::{BatchCall, CallState};
use crate::wait::{Answer, Approval, Delivery, UnknownAnswer, Wait, WaitEnd, WaitKind};

/// Whether a call may start.
pub(super) enum StartPermission {
    /// The approval is for something else.
    Mismatch,
    /// It may start: no approval is needed, or this wait was answered with one.
    Granted(Option<WaitId>),
    /// It needs an approval for this subject first.
    NeedsApproval(Digest),
}

impl Decider<'_> {
    /// Whether a call may start with its present arguments.
    pub(super) fn start_permission(&self, call: &BatchCall) -> StartPermission {
        let Some(tool) = self.turn.setup.catalog.tool(call.call.name.as_str()) else {
            // An unknown tool is not started in any case.
            return StartPermission::Granted(None);
        };
        let subject = || approval::subject(tool, arguments(call));
        if let CallState::Granted(granted) = &call.state {
            // The oldest records have no subject.
            return if granted.subject.is_none_or(|allowed| allowed == subject()) {
                StartPermission::Granted(Some(granted.wait.clone()))
            } else {
                StartPermission::Mismatch
            };
        }
        match &tool.permission {
            Permission::Granted { wait, .. } => StartPermission::Granted(Some(wait.clone())),
            Permission::Allow | Permission::Deny(_) => StartPermission::Granted(None),
            Permission::Ask => match self.turn.grants.find(tool) {
                Some(grant) => StartPermission::Granted(Some(grant.wait.clone())),
                // The approval of the first attempt covers this one, because repeating the call has no further
                // effect.
                None if call.attempts > 0 && tool.safety.may_repeat() => {
                    StartPermission::Granted(None)
                }
                None => StartPermission::NeedsApproval(subject()),
            },
        }
    }

    /// Asks for approvals of calls that are to be repeated: the attempt that an approval started has consumed
    /// it.
    pub(super) fn request_approvals(&mut self) {
        let queued = |call: &&BatchCall| matches!(call.state, CallState::Queued);
        let requests: Vec<(ToolCallId, Digest)> = self
            .turn
            .calls()
            .iter()
            .filter(queued)
            .filter(|call| self.restriction(&call.call.id).is_none())
            .filter_map(|call| match self.start_permission(call) {
                StartPermission::NeedsApproval(subject) => Some((call.call.id.clone(), subject)),
                StartPermission::Mismatch | StartPermission::Granted(_) => None,
            })
            .collect();
        for (call, subject) in requests {
            let subject = Some(subject);
            self.open_wait(&call, WaitKind::Approval { subject });
        }
    }

    /// The subject that an answer allows to run, if it does: the one asked about, unless the arguments were
    /// edited.
    pub(super) fn approved_subject(&self, wait: &Wait, answer: &Answer) -> Option<Digest> {
        let call = self.open_call(&wait.call)?;
        match (answer, &wait.kind) {
            (
                Answer::Approval(Approval::Granted { edited, .. }),
                WaitKind::Approval { subject },
            ) => match edited {
                Some(fields) => self.subject_of(call, &edited_input(fields)),
                None => *subject,
            },
            (Answer::UnknownOutcome(UnknownAnswer::Retry), _) => {
                self.subject_of(call, arguments(call))
            }
            (
                Answer::Approval(_)
                | Answer::ClientResult(_)
                | Answer::Elicitation(_)
                | Answer::UnknownOutcome(_),
                _,
            ) => None,
        }
    }

    /// Answers all open approvals of a tool after a session grant for it.
    pub(super) fn apply_session_grant(&mut self, delivery: &Delivery) {
        let covered: Vec<Wait> = self
            .turn
            .waits()
            .filter(|wait| {
                let tool = self.open_call(&wait.call).and_then(|call| {
                    let name = call.call.name.as_str();
                    self.turn.setup.catalog.tool(name)
                });
                matches!(wait.kind, WaitKind::Approval { .. })
                    && tool.is_some_and(|tool| self.turn.grants.find(tool).is_some())
            })
            .cloned()
            .collect();
        for wait in covered {
            let answer = Answer::Approval(Approval::Granted {
                edited: None,
                for_session: true,
            });
            self.decide(Fact::WaitClosed {
                subject: self.approved_subject(&wait, &answer),
                end: WaitEnd::Answered {
                    answer,
                    by: Arc::clone(&delivery.by),
                    delivery: delivery.id.clone(),
                },
                wait: wait.id,
            });
        }
    }

    /// The outcome of a call that was not approved. A call with an earlier attempt may still have taken effect.
    pub(super) fn unapproved(&self, id: &ToolCallId, why: &str) -> (CallEnd, ToolResult) {
        if self.open_call(id).is_none_or(|call| call.attempts == 0) {
            return (CallEnd::Denied, error_texts::unapproved(why));
        }
        let why = format!("it was to be made again, but {why}");
        let result = error_texts::lost(Disposition::Unknown, &why);
        (CallEnd::Reported, self.with_edit_note(id, result))
    }

    fn open_call(&self, id: &ToolCallId) -> Option<&BatchCall> {
        self.turn.calls().iter().find(|call| call.call.id == *id)
    }

    fn subject_of(&self, call: &BatchCall, input: &ToolInput) -> Option<Digest> {
        let tool = self.turn.setup.catalog.tool(call.call.name.as_str())?;
        Some(approval::subject(tool, input))
    }
}

/// The arguments of a call.
fn arguments(call: &BatchCall) -> &ToolInput {
    call.edited.as_deref().unwrap_or(&call.call.input)
}

/// The arguments of a call that an approver edited.
fn edited_input(fields: &Map<String, Value>) -> ToolInput {
    ToolInput::Json(JsonInput::from(fields.clone()))
}
