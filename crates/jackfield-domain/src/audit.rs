//! The audit of a session: every call and every decision, built of facts alone.
//!
//! What is not a fact is not in it: which rule allowed a call is not kept, what a rule said when it
//! denied one is; a cancel names whoever delivered it, if the inbox of the session is given too.

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

/// One thing that an audit tells.
#[derive(Clone, Debug, PartialEq)]
pub enum AuditEntry {
    /// A tool call, with everything that was decided about it.
    Call(Box<AuditedCall>),
    /// A turn was cancelled.
    Cancelled {
        /// When.
        at: WallTime,
        /// By whom, if the inbox says so.
        by: Option<Arc<str>>,
        /// Why.
        cause: CancelCause,
        /// The turn.
        turn: TurnId,
    },
    /// What a model call used was told after it was over.
    LateUsage {
        /// When.
        at: WallTime,
        /// The try.
        attempt: ModelAttempt,
        /// The turn.
        turn: TurnId,
        /// What it used.
        usage: Usage,
    },
}

/// A tool call, from the model's word to the last thing that was heard of it.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditedCall {
    /// Who had allowed it by an answer to the question about an earlier call of the turn.
    pub allowed_by: Option<Arc<str>>,
    /// The grant or approval that it was started by, where one was needed.
    pub approval: Option<WaitId>,
    /// When the model asked for it.
    pub at: WallTime,
    /// Its tries, in order.
    pub attempts: Vec<AuditedTry>,
    /// The call, with the name and the arguments that the model wrote.
    pub call: Arc<ToolCall>,
    /// How it came to its outcome, if it has one.
    pub closed: Option<AuditedEnd>,
    /// What it was run with, or is to be, where somebody changed it.
    pub edited: Option<Arc<ToolInput>>,
    /// What its tool may recognise it by, the same for all tries.
    pub key: IdempotencyKey,
    /// What came of its tries after they had been given up.
    pub late: Vec<LateOutcome>,
    /// Where the tool comes from, if there was such a tool.
    pub origin: Option<ToolOrigin>,
    /// What policy said of the tool when the turn began.
    pub permission: Option<Permission>,
    /// The questions that it raised, in order.
    pub questions: Vec<AuditedWait>,
    /// The round of the turn that it was made in.
    pub round: u32,
    /// The turn.
    pub turn: TurnId,
}

/// One try at a call.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditedTry {
    /// When it was started.
    pub at: WallTime,
    /// How it was lost, if it was.
    pub lost: Option<AuditedLoss>,
    /// Which try it was, from 1.
    pub number: u32,
    /// How long it might take.
    pub time_limit: Duration,
}

/// How a try ended without an outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditedLoss {
    /// When.
    pub at: WallTime,
    /// What is known of its effects.
    pub disposition: Disposition,
    /// What happened.
    pub kind: ToolFailureKind,
    /// The same in a sentence.
    pub message: Arc<str>,
    /// What was done about it.
    pub then: AfterLoss,
}

/// A call's outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditedEnd {
    /// When it was closed.
    pub at: WallTime,
    /// How it came to the outcome.
    pub end: CallEnd,
    /// Whether the outcome is an error.
    pub is_error: bool,
    /// How many bytes of it a model is shown, where that is not all.
    pub shown: Option<usize>,
    /// The size of the outcome in bytes.
    pub size: usize,
    /// The beginning of its text, for people.
    pub text: String,
}

/// A question to somebody outside, and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditedWait {
    /// When it was opened.
    pub at: WallTime,
    /// How and when it ended, if it has; an answer that nobody has acted upon yet is one.
    pub closed: Option<(WallTime, WaitEnd)>,
    /// The question.
    pub wait: Wait,
}

impl AuditedCall {
    /// Whether it is of a tool of this pattern, as that of a [`policy::PolicyRule`]; where there was no
    /// such tool, whether what the model called it is.
    #[must_use]
    pub fn is_of(&self, pattern: &str) -> bool {
        match &self.origin {
            Some(origin) => policy::fits(pattern, origin),
            None => policy::matches(pattern, self.call.name.as_str()),
        }
    }

    /// Everybody and everything that decided about it, in order: rules as `policy`, people by name.
    #[must_use]
    pub fn who(&self) -> Vec<Arc<str>> {
        let mut who: Vec<Arc<str>> = Vec::new();
        match &self.permission {
            Some(Permission::Allow | Permission::Deny(_)) => who.push(POLICY.into()),
            Some(Permission::Granted { by, .. }) => who.push(Arc::clone(by)),
            Some(Permission::Ask) | None => {}
        }
        who.extend(self.allowed_by.clone());
        for question in &self.questions {
            if let Some((_, WaitEnd::Answered { by, .. })) = &question.closed {
                who.push(Arc::clone(by));
            }
        }
        who
    }
}

/// Everything that an audit of these steps and deliveries tells, in the order in which it began.
#[must_use]
pub fn of(steps: &[Envelope], deliveries: &[Delivery]) -> Vec<AuditEntry> {
    let mut folding = AuditFold {
        deliveries,
        ..AuditFold::default()
    };
    for step in steps {
        for fact in &step.facts {
            folding.fold(fact, step.now.wall);
        }
    }
    for late in late::outcomes(steps, deliveries) {
        if let Some(call) = folding.call(&late.attempt.call) {
            call.late.push(late);
        }
    }
    for delivery in deliveries {
        folding.hear(delivery);
    }
    folding.told
}

/// The fold, half way.
#[derive(Default)]
struct AuditFold<'a> {
    /// Who answered each question of the turn.
    answered: BTreeMap<WaitId, Arc<str>>,
    deliveries: &'a [Delivery],
    /// Where each call stands among what is told.
    places: BTreeMap<ToolCallId, usize>,
    setup: Option<(TurnId, Arc<Setup>)>,
    told: Vec<AuditEntry>,
    /// The call of each question.
    waits: BTreeMap<WaitId, ToolCallId>,
}

impl AuditFold<'_> {
    fn fold(&mut self, fact: &Fact, at: WallTime) {
        match fact {
            Fact::TurnOpened { setup, turn, .. } => {
                self.answered.clear();
                self.setup = Some((turn.clone(), Arc::clone(setup)));
            }
            Fact::ReplyReceived { attempt, reply } => {
                for call in reply.message.calls() {
                    self.ask(call, attempt.round, &reply.message.blocks, at);
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
            } => {
                if let Some(call) = self.call(call) {
                    call.closed = Some(AuditedEnd {
                        at,
                        end: *end,
                        is_error: result.is_error,
                        shown: *shown,
                        size: result.size(),
                        text: beginning(&result.to_text()),
                    });
                }
            }
            Fact::Late(Late::Usage { attempt, usage }) => {
                if let Some((turn, _)) = &self.setup {
                    self.told.push(AuditEntry::LateUsage {
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
            } => self.cancelled(*cause, at),
            Fact::CallAccepted { .. }
            // Some of them are no facts; they are told when all of the session is known.
            | Fact::Late(Late::Outcome { .. })
            | Fact::ModelCallEnded { .. }
            | Fact::ModelCallStarted { .. }
            | Fact::SessionForked { .. }
            | Fact::TurnEnded { .. }
            | Fact::TurnResumed { .. } => {}
        }
    }

    /// An answer is a decision as soon as it is given, also while nobody is there to act upon it.
    fn hear(&mut self, delivery: &Delivery) {
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
            // When it was said counts, not when it was heard.
            Some((at, known)) if *known == end => *at = delivery.at,
            Some(_) => {}
        }
    }

    fn ask(&mut self, call: &Arc<ToolCall>, round: u32, blocks: &[Block], at: WallTime) {
        let Some((turn, setup)) = &self.setup else {
            return;
        };
        let tool = setup.catalog.tool(call.name.as_str());
        // A provider that runs a call by itself tells the outcome in the same reply.
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
                text: beginning(&outcome.result.to_text()),
            });
        self.places.insert(call.id.clone(), self.told.len());
        self.told.push(AuditEntry::Call(Box::new(AuditedCall {
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

    fn cancelled(&mut self, cause: CancelCause, at: WallTime) {
        let Some((turn, _)) = &self.setup else {
            return;
        };
        let delivered = self.deliveries.iter().find(|delivery| {
            matches!(&delivery.body, DeliveryBody::Cancel { turn: of, .. } if of == turn)
        });
        self.told.push(AuditEntry::Cancelled {
            at,
            by: delivered.map(|delivery| Arc::clone(&delivery.by)),
            cause,
            turn: turn.clone(),
        });
    }

    fn call(&mut self, id: &ToolCallId) -> Option<&mut AuditedCall> {
        match self.told.get_mut(*self.places.get(id)?)? {
            AuditEntry::Call(call) => Some(call),
            AuditEntry::Cancelled { .. } | AuditEntry::LateUsage { .. } => None,
        }
    }
}

/// The beginning of a text, cut between characters.
fn beginning(text: &str) -> String {
    text[..text.floor_char_boundary(BEGINNING)].to_owned()
}

/// Who decided, where it was a rule.
pub const POLICY: &str = "policy";

/// How much of an outcome's text an audit has, in bytes.
const BEGINNING: usize = 200;
