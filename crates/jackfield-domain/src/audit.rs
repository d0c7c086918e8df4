//! The audit of a session: every call and every decision, computed from facts alone.
//!
//! It lacks what facts do not record: the rule that allowed a call. The reason of a rule that denied a call is
//! recorded. A cancel names its sender if the inbox of the session is given, too.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::block::{Block, Content, RanBy, ToolCall};
use crate::fact::{AfterLoss, CallEnd, Envelope, Fact, Late, TurnEnd};
use crate::failure::{Disposition, ToolFailureKind};
use crate::ids::{IdempotencyKey, ModelAttempt, ToolCallId, TurnId, WaitId};
use crate::late::{self, LateOutcome};
use crate::policy::{self, Permission};
use crate::setup::Setup;
use crate::time::WallTime;
use crate::tool::ToolOrigin;
use crate::tool_input::{JsonInput, ToolInput};
use crate::usage::Usage;
use crate::wait::{Answer, Approval, CancelCause, Delivery, DeliveryBody, Wait, WaitEnd};

/// An entry of an audit.
#[derive(Clone, Debug, PartialEq)]
pub enum AuditEntry {
    /// A tool call, with all decisions about it.
    Call(Box<AuditedCall>),
    /// A turn was cancelled.
    Cancelled {
        /// When.
        at: WallTime,
        /// The sender, if the inbox is given.
        by: Option<Arc<str>>,
        /// Why.
        cause: CancelCause,
        /// The turn.
        turn: TurnId,
    },
    /// The usage of a model call arrived after the call was over.
    LateUsage {
        /// When.
        at: WallTime,
        /// The attempt.
        attempt: ModelAttempt,
        /// The turn.
        turn: TurnId,
        /// The usage.
        usage: Usage,
    },
}

/// A tool call, from the model's request to the last event about it.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditedCall {
    /// The person who allowed it by approving an earlier call of the turn.
    pub allowed_by: Option<Arc<str>>,
    /// The grant or approval that started it, if it needed one.
    pub approval: Option<WaitId>,
    /// When the model requested it.
    pub at: WallTime,
    /// Its attempts, in order.
    pub attempts: Vec<AuditedTry>,
    /// The call, with the name and arguments that the model wrote.
    pub call: Arc<ToolCall>,
    /// Its outcome, if it has one.
    pub closed: Option<AuditedEnd>,
    /// The arguments that replaced the model's, if an approver edited them.
    pub edited: Option<Arc<ToolInput>>,
    /// The idempotency key, which all attempts share.
    pub key: IdempotencyKey,
    /// Late outcomes of attempts that were given up.
    pub late: Vec<LateOutcome>,
    /// The tool's origin, if the tool existed.
    pub origin: Option<ToolOrigin>,
    /// The policy's permission for the tool when the turn began.
    pub permission: Option<Permission>,
    /// Its waits, in order.
    pub questions: Vec<AuditedWait>,
    /// The round of the turn in which it was made.
    pub round: u32,
    /// The turn.
    pub turn: TurnId,
}

/// An attempt at a call.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditedTry {
    /// When it was started.
    pub at: WallTime,
    /// How it was lost, if it was.
    pub lost: Option<AuditedLoss>,
    /// The number of the attempt, from 1.
    pub number: u32,
    /// Its time limit.
    pub time_limit: Duration,
}

/// How an attempt ended without an outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditedLoss {
    /// When.
    pub at: WallTime,
    /// What is known of its effects.
    pub disposition: Disposition,
    /// The kind of failure.
    pub kind: ToolFailureKind,
    /// The failure, in a sentence.
    pub message: Arc<str>,
    /// The decision about it.
    pub then: AfterLoss,
}

/// The outcome of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditedEnd {
    /// When it was closed.
    pub at: WallTime,
    /// How it got its outcome.
    pub end: CallEnd,
    /// Whether the outcome is an error.
    pub is_error: bool,
    /// The number of bytes that models see, if the outcome is cut.
    pub shown: Option<usize>,
    /// The size of the outcome in bytes.
    pub size: usize,
    /// The beginning of its text, for people.
    pub text: String,
}

/// A wait, and how it ended.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditedWait {
    /// When it was opened.
    pub at: WallTime,
    /// How and when it ended, if it has; an answer that is not yet consumed counts.
    pub closed: Option<(WallTime, WaitEnd)>,
    /// The wait.
    pub wait: Wait,
}

impl AuditedCall {
    /// Whether its tool matches this pattern, as in a [`policy::PolicyRule`]; for an unknown tool, whether the
    /// name that the model used matches.
    #[must_use]
    pub fn matches_tool(&self, pattern: &str) -> bool {
        match &self.origin {
            Some(origin) => policy::matches_tool(pattern, origin),
            None => policy::matches(pattern, self.call.name.as_str()),
        }
    }

    /// All deciders, in order: rules as `policy`, people by name.
    #[must_use]
    pub fn deciders(&self) -> Vec<Arc<str>> {
        let mut deciders: Vec<Arc<str>> = Vec::new();
        match &self.permission {
            Some(Permission::Allow | Permission::Deny(_)) => deciders.push(POLICY.into()),
            Some(Permission::Granted { by, .. }) => deciders.push(Arc::clone(by)),
            Some(Permission::Ask) | None => {}
        }
        deciders.extend(self.allowed_by.clone());
        for question in &self.questions {
            if let Some((_, WaitEnd::Answered { by, .. })) = &question.closed {
                deciders.push(Arc::clone(by));
            }
        }
        deciders
    }
}

/// The audit entries of these steps and deliveries, in the order in which they began.
#[must_use]
pub fn entries(steps: &[Envelope], deliveries: &[Delivery]) -> Vec<AuditEntry> {
    let mut state = AuditFold {
        deliveries,
        ..AuditFold::default()
    };
    for step in steps {
        for fact in &step.facts {
            state.fold(fact, step.now.wall);
        }
    }
    for late in late::outcomes(steps, deliveries) {
        if let Some(call) = state.call(&late.attempt.call) {
            call.late.push(late);
        }
    }
    for delivery in deliveries {
        state.apply_delivery(delivery);
    }
    state.entries
}

/// The state of the fold.
#[derive(Default)]
struct AuditFold<'a> {
    /// The sender of the answer to each wait of the turn.
    answered: BTreeMap<WaitId, Arc<str>>,
    deliveries: &'a [Delivery],
    /// The index of each call in `told`.
    places: BTreeMap<ToolCallId, usize>,
    setup: Option<(TurnId, Arc<Setup>)>,
    entries: Vec<AuditEntry>,
    /// The call of each wait.
    waits: BTreeMap<WaitId, ToolCallId>,
}

impl AuditFold<'_> {
    fn fold(&mut self, fact: &Fact, at: WallTime) {
        match fact {
            Fact::TurnOpened { setup, turn, .. } => {
                self.answered.clear();
                self.setup = Some((turn.clone(), Arc::clone(setup)));
            }
            Fact::ReplyReceived { attempt, reply, .. } => {
                for call in reply.message.calls() {
                    self.record_call(call, attempt.round, &reply.message.blocks, at);
                }
            }
            Fact::CallStarted {
                approval,
                attempt,
                edited,
                time_limit,
                ..
            } => {
                let answered = approval.as_ref().and_then(|wait| self.answered.get(wait));
                let answered = answered.cloned();
                if let Some(call) = self.call(&attempt.call) {
                    if let Some(approval) = approval {
                        let is_its_own = |question: &AuditedWait| question.wait.id == *approval;
                        if !call.questions.iter().any(is_its_own) {
                            call.allowed_by = answered;
                        }
                        call.approval = Some(approval.clone());
                    }
                    call.edited.clone_from(edited);
                    call.attempts.push(AuditedTry {
                        at,
                        lost: None,
                        number: attempt.attempt,
                        time_limit: *time_limit,
                    });
                }
            }
            Fact::CallLost {
                attempt,
                disposition,
                kind,
                message,
                then,
            } => {
                let call = self.call(&attempt.call);
                let tries = call.map(|call| &mut call.attempts);
                if let Some(last) = tries.and_then(|tries| tries.last_mut()) {
                    last.lost = Some(AuditedLoss {
                        at,
                        disposition: *disposition,
                        kind: *kind,
                        message: Arc::clone(message),
                        then: *then,
                    });
                }
            }
            Fact::CallClosed {
                call,
                end,
                result,
                shown,
                ..
            } => {
                if let Some(call) = self.call(call) {
                    call.closed = Some(AuditedEnd {
                        at,
                        end: *end,
                        is_error: result.is_error,
                        shown: *shown,
                        size: result.size(),
                        text: excerpt(&result.to_text()),
                    });
                }
            }
            Fact::Late(Late::Usage { attempt, usage }) => {
                if let Some((turn, _)) = &self.setup {
                    self.entries.push(AuditEntry::LateUsage {
                        at,
                        attempt: *attempt,
                        turn: turn.clone(),
                        usage: *usage,
                    });
                }
            }
            Fact::WaitOpened { wait } => {
                self.waits.insert(wait.id.clone(), wait.call.clone());
                if let Some(call) = self.call(&wait.call) {
                    call.questions.push(AuditedWait {
                        at,
                        closed: None,
                        wait: wait.clone(),
                    });
                }
            }
            Fact::WaitClosed { end, wait, .. } => {
                if let WaitEnd::Answered { by, .. } = end {
                    self.answered.insert(wait.clone(), Arc::clone(by));
                }
                let call = self.waits.get(wait).cloned();
                if let Some(call) = call.and_then(|call| self.call(&call))
                    && let Some(question) = call.questions.iter_mut().find(|q| q.wait.id == *wait)
                {
                    question.closed = Some((at, end.clone()));
                }
            }
            Fact::TurnEnded {
                end: TurnEnd::Cancelled(cause),
                ..
            } => self.record_cancel(*cause, at),
            Fact::CallAccepted { .. }
            // Some late outcomes are deliveries, not facts; all are added when the whole session is folded.
            | Fact::BackendSession { .. }
            | Fact::Compacted(_)
            | Fact::Late(Late::Outcome { .. })
            | Fact::ModelCallEnded { .. }
            | Fact::ModelCallStarted { .. }
            | Fact::SessionForked { .. }
            | Fact::TurnEnded { .. }
            | Fact::TurnResumed { .. } => {}
        }
    }

    /// An answer counts as a decision at once, even if no process has consumed it yet.
    fn apply_delivery(&mut self, delivery: &Delivery) {
        let DeliveryBody::Answer { answer, wait } = &delivery.body else {
            return;
        };
        let end = WaitEnd::Answered {
            answer: answer.clone(),
            by: Arc::clone(&delivery.by),
            delivery: delivery.id.clone(),
        };
        let call = self.waits.get(wait).cloned();
        let Some(call) = call.and_then(|call| self.call(&call)) else {
            return;
        };
        let Some(question) = call.questions.iter_mut().find(|q| q.wait.id == *wait) else {
            return;
        };
        match &mut question.closed {
            None => {
                question.closed = Some((delivery.at, end));
                if let Answer::Approval(Approval::Granted {
                    edited: Some(fields),
                    ..
                }) = answer
                {
                    let input = JsonInput::from(fields.as_ref().clone());
                    call.edited = Some(Arc::new(ToolInput::Json(input)));
                }
            }
            // The time of the answer counts, not the time at which it was consumed.
            Some((at, known)) if *known == end => *at = delivery.at,
            Some(_) => {}
        }
    }

    fn record_call(&mut self, call: &Arc<ToolCall>, round: u32, blocks: &[Block], at: WallTime) {
        let Some((turn, setup)) = &self.setup else {
            return;
        };
        let tool = setup.catalog.tool(call.name.as_str());
        // For a provider tool, the outcome is in the same reply.
        let ran = blocks.iter().find_map(|block| match &block.content {
            Content::ToolOutcome(outcome) if outcome.call == call.id => Some(outcome),
            Content::Audio(_)
            | Content::Document(_)
            | Content::Image(_)
            | Content::Opaque(_)
            | Content::Refusal(_)
            | Content::Text(_)
            | Content::Thinking(_)
            | Content::ToolCall(_)
            | Content::ToolOutcome(_) => None,
        });
        let closed = ran
            .filter(|_| call.ran_by == RanBy::Provider)
            .map(|outcome| AuditedEnd {
                at,
                end: CallEnd::Ran,
                is_error: outcome.result.is_error,
                shown: None,
                size: outcome.result.size(),
                text: excerpt(&outcome.result.to_text()),
            });
        self.places.insert(call.id.clone(), self.entries.len());
        self.entries.push(AuditEntry::Call(Box::new(AuditedCall {
            allowed_by: None,
            approval: None,
            at,
            attempts: Vec::new(),
            call: Arc::clone(call),
            closed,
            edited: None,
            key: IdempotencyKey::derive(&call.id),
            late: Vec::new(),
            origin: tool.map(|tool| tool.origin.clone()),
            permission: tool.map(|tool| tool.permission.clone()),
            questions: Vec::new(),
            round,
            turn: turn.clone(),
        })));
    }

    fn record_cancel(&mut self, cause: CancelCause, at: WallTime) {
        let Some((turn, _)) = &self.setup else {
            return;
        };
        let delivered = self.deliveries.iter().find(|delivery| {
            matches!(&delivery.body, DeliveryBody::Cancel { turn: of, .. } if of == turn)
        });
        self.entries.push(AuditEntry::Cancelled {
            at,
            by: delivered.map(|delivery| Arc::clone(&delivery.by)),
            cause,
            turn: turn.clone(),
        });
    }

    fn call(&mut self, id: &ToolCallId) -> Option<&mut AuditedCall> {
        match self.entries.get_mut(*self.places.get(id)?)? {
            AuditEntry::Call(call) => Some(call),
            AuditEntry::Cancelled { .. } | AuditEntry::LateUsage { .. } => None,
        }
    }
}

/// The beginning of a text, cut at a character boundary.
fn excerpt(text: &str) -> String {
    text[..text.floor_char_boundary(BEGINNING)].to_owned()
}

/// The name of the decider if it was a rule.
pub const POLICY: &str = "policy";

/// How much of an outcome's text an audit contains, in bytes.
const BEGINNING: usize = 200;
