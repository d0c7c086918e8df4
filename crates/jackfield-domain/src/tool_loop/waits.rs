//! Waits: how they open, how deliveries close them, and how they expire.

use crate::fact::{CallEnd, Fact};
use crate::failure::Disposition;
use crate::ids::{ToolCallId, WaitId};
use crate::outcome::ToolResult;
use crate::tool_loop::action::Action;
use crate::tool_loop::decider::Decider;
use crate::tool_loop::error_texts;
use crate::turn::{CallState, RunningCall};
use crate::wait::{
    Answer, Approval, Delivery, DeliveryBody, UnknownAnswer, Wait, WaitEnd, WaitKind,
};

impl Decider<'_> {
    pub(super) fn open_wait(&mut self, call: &ToolCallId, kind: WaitKind) {
        let limits = &self.turn.setup.limits;
        let time = match &kind {
            WaitKind::ClientResult => limits.client_tool,
            WaitKind::Approval { .. }
            | WaitKind::Budget { .. }
            | WaitKind::Elicitation { .. }
            | WaitKind::UnknownOutcome => limits.approval,
        };
        let nth = self
            .turn
            .calls()
            .iter()
            .find(|open| open.call.id == *call)
            .map_or(0, |c| c.waits);
        let wait = Wait {
            call: call.clone(),
            deadline: self.now.wall.after(time),
            id: WaitId::derive(call, nth + 1),
            kind,
        };
        self.decide(Fact::WaitOpened { wait: wait.clone() });
        self.actions.push(Action::OpenWait(wait));
    }

    /// Handles a delivery. A delivery before the deadline wins over the expiry, no matter when it is read.
    pub(super) fn apply_delivery(&mut self, delivery: &Delivery) {
        match &delivery.body {
            DeliveryBody::Cancel { cause, turn } => {
                if *turn == self.turn.id {
                    self.cancel(*cause);
                }
            }
            DeliveryBody::Answer { answer, wait } => {
                let Some(wait) = self.turn.waits().find(|open| open.id == *wait).cloned() else {
                    return;
                };
                if wait.kind.accepts(answer) && delivery.at <= wait.deadline {
                    self.apply_answer(&wait, answer, delivery);
                }
            }
            // The delivery of a reply does not change its turn, and neither does a late outcome.
            DeliveryBody::Late { .. }
            | DeliveryBody::Withdrawn { .. }
            | DeliveryBody::Written { .. } => {}
        }
    }

    fn apply_answer(&mut self, wait: &Wait, answer: &Answer, delivery: &Delivery) {
        let end = WaitEnd::Answered {
            answer: answer.clone(),
            by: std::sync::Arc::clone(&delivery.by),
            delivery: delivery.id.clone(),
        };
        self.decide(Fact::WaitClosed {
            end,
            subject: self.approved_subject(wait, answer),
            wait: wait.id.clone(),
        });
        if let WaitKind::Budget { message } = &wait.kind {
            return self.pause_answered(message, answer);
        }
        match answer {
            Answer::Approval(Approval::Denied { reason }) => {
                let why = error_texts::denied(reason);
                let (end, result) = self.unapproved(&wait.call, &why);
                self.close(&wait.call, end, result);
            }
            // The call starts when a slot is free; the append of its start consumes the approval.
            Answer::Approval(Approval::Granted {
                for_session: true, ..
            }) => self.apply_session_grant(delivery),
            Answer::Approval(Approval::Granted { .. }) => {}
            Answer::ClientResult(client_result) => {
                self.close(&wait.call, CallEnd::ByClient, client_result.result.clone());
            }
            Answer::Elicitation(_) => self.resume_answered(&wait.call),
            Answer::UnknownOutcome(UnknownAnswer::Landed(result)) => {
                self.close(&wait.call, CallEnd::Reported, result.clone());
            }
            Answer::UnknownOutcome(UnknownAnswer::Report) => {
                let result = error_texts::lost(Disposition::Unknown, "a person was asked");
                self.close(&wait.call, CallEnd::Reported, result);
            }
            Answer::UnknownOutcome(UnknownAnswer::Retry) => {}
        }
    }

    fn resume_answered(&mut self, call: &ToolCallId) {
        let found = self.turn.calls().iter().find(|open| open.call.id == *call);
        if let Some(CallState::Running(running)) = found.map(|open| &open.state)
            && let RunningCall {
                handle: Some(handle),
                ..
            } = running
        {
            let (running, handle) = (running.clone(), handle.clone());
            self.resume(&running, handle);
        }
    }

    /// Closes expired waits.
    pub(super) fn expire_waits(&mut self) {
        let now = self.now.wall;
        let expired: Vec<Wait> = self
            .turn
            .waits()
            .filter(|wait| wait.deadline <= now)
            .cloned()
            .collect();
        for wait in expired {
            self.decide(Fact::WaitClosed {
                end: WaitEnd::Expired,
                subject: None,
                wait: wait.id.clone(),
            });
            self.abandon(&wait);
            let (end, result) = self.expiry_outcome(&wait);
            self.close(&wait.call, end, result);
        }
    }

    /// Gives up the call of a question that was closed without an answer.
    pub(super) fn abandon(&mut self, wait: &Wait) {
        let WaitKind::Elicitation { handle, .. } = &wait.kind else {
            return;
        };
        if let Some((tool, _)) = self.turn.call_for_wait(wait) {
            let (handle, tool) = (handle.clone(), tool.origin.clone());
            self.actions.push(Action::AbandonTool { handle, tool });
        }
    }

    fn expiry_outcome(&self, wait: &Wait) -> (CallEnd, ToolResult) {
        match wait.kind {
            WaitKind::Approval { .. } | WaitKind::Budget { .. } => {
                self.unapproved(&wait.call, error_texts::EXPIRED)
            }
            WaitKind::ClientResult => {
                let limit = self.turn.setup.limits.client_tool;
                (CallEnd::ClientExpired, error_texts::client_expired(limit))
            }
            WaitKind::Elicitation { .. } => (CallEnd::Reported, error_texts::question_expired()),
            WaitKind::UnknownOutcome => (
                CallEnd::Reported,
                error_texts::lost(Disposition::Unknown, "nobody knew"),
            ),
        }
    }
}
