//! The audit of a session: every call and every decision, computed from facts alone.
//!
//! It lacks what facts do not record: the rule that allowed a call. The reason of a rule that denied a call is
//! recorded. A cancel names its sender if the inbox of the session is given, too.

use std::sync::Arc;

use crate::block::ToolCall;
use crate::fact::{CachedCall, CallEnd, Envelope, ModelCallEnd, TurnEnd};
use crate::failure::ModelFailure;
use crate::ids::{IdempotencyKey, ModelAttempt, TurnId, WaitId};
use crate::late::LateOutcome;
use crate::outcome::ToolResult;
use crate::policy;
use crate::request::ModelRef;
use crate::target::TargetChoice;
use crate::time::WallTime;
use crate::tool::{Permission, ToolOrigin};
use crate::tool_input::{JsonInput, ToolInput};
use crate::turn_log::{AttemptLog, CallLog, LogEntry, SessionLog, TurnLog, WaitLog};
use crate::usage::Usage;
use crate::wait::{Answer, Approval, CancelCause, Delivery, DeliveryBody, WaitEnd};

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
    /// A route chose the target of a model call.
    Target(Box<AuditedTarget>),
}

/// A model call at a target that a route chose, or fell back to.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditedTarget {
    /// When the call began.
    pub at: WallTime,
    /// The attempt.
    pub attempt: ModelAttempt,
    /// Why, and the breakers that were not closed.
    pub choice: Arc<TargetChoice>,
    /// The failure of the attempt before it, if it follows one.
    pub failure: Option<ModelFailure>,
    /// The model.
    pub model: ModelRef,
    /// The route, if the turn's targets came from one.
    pub route: Option<Arc<str>>,
    /// The turn.
    pub turn: TurnId,
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
    pub attempts: Vec<AttemptLog>,
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
    pub questions: Vec<WaitLog>,
    /// The round of the turn in which it was made.
    pub round: u32,
    /// The turn.
    pub turn: TurnId,
}

/// The outcome of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditedEnd {
    /// When it was closed.
    pub at: WallTime,
    /// The call that the outcome was copied from, if it was.
    pub cached: Option<Arc<CachedCall>>,
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

impl AuditedCall {
    fn new(turn: &TurnLog, log: &CallLog) -> Self {
        let tool = turn.tool(&log.call);
        let questions: Vec<WaitLog> = turn.waits_of(&log.call.id).cloned().collect();
        let approvals = log.attempts.iter().rev();
        let mut approvals = approvals.filter_map(|attempt| attempt.approval.as_ref());
        let approval = approvals.clone().next();
        let is_its_own = |wait: &WaitId| questions.iter().any(|asked| asked.wait.id == *wait);
        let granted = approvals.find(|wait| !is_its_own(wait));
        let granted = granted.and_then(|wait| turn.waits.iter().find(|one| one.wait.id == *wait));
        let allowed_by = match granted.and_then(|wait| wait.closed.as_ref()) {
            Some((_, WaitEnd::Answered { by, .. })) => Some(Arc::clone(by)),
            Some((_, WaitEnd::Cancelled | WaitEnd::Expired | WaitEnd::Superseded)) | None => None,
        };
        let closed = match (&log.closed, &log.provided) {
            (Some(closed), _) => Some(AuditedEnd {
                cached: closed.cached.clone(),
                shown: closed.shown,
                ..AuditedEnd::new(closed.at, closed.end, &closed.result)
            }),
            (None, Some(given)) => Some(AuditedEnd::new(log.at, CallEnd::Ran, &given.result)),
            (None, None) => None,
        };
        Self {
            allowed_by,
            approval: approval.cloned(),
            at: log.at,
            attempts: log.attempts.clone(),
            call: Arc::clone(&log.call),
            closed,
            edited: edited(log, &questions),
            key: IdempotencyKey::derive(&log.call.id),
            late: log.late.clone(),
            origin: tool.map(|tool| tool.origin.clone()),
            permission: tool.map(|tool| tool.permission.clone()),
            questions,
            round: log.round,
            turn: turn.turn.clone(),
        }
    }

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
            if let Some((_, WaitEnd::Answered { by, .. })) = question.decided() {
                deciders.push(Arc::clone(by));
            }
        }
        deciders
    }
}

impl AuditedEnd {
    fn new(at: WallTime, end: CallEnd, result: &ToolResult) -> Self {
        let text = result.to_text();
        Self {
            at,
            cached: None,
            end,
            is_error: result.is_error,
            shown: None,
            size: result.size(),
            text: text[..text.floor_char_boundary(BEGINNING)].to_owned(),
        }
    }
}

/// The audit entries of these steps and deliveries, in the order in which they began.
#[must_use]
pub fn entries(steps: &[Envelope], deliveries: &[Delivery]) -> Vec<AuditEntry> {
    let log = SessionLog::from_steps(steps, deliveries);
    let mut entries = Vec::new();
    for turn in &log.turns {
        let mut calls = turn.calls.iter();
        let mut failure = None;
        for entry in &turn.entries {
            match entry {
                LogEntry::Compacted { .. } => {}
                LogEntry::LateUsage { at, attempt, usage } => entries.push(AuditEntry::LateUsage {
                    at: *at,
                    attempt: *attempt,
                    turn: turn.turn.clone(),
                    usage: *usage,
                }),
                LogEntry::Reply { reply, .. } => {
                    failure = None;
                    let requested = calls.by_ref().take(reply.message.calls().count());
                    let audited = requested.map(|call| AuditedCall::new(turn, call));
                    entries.extend(audited.map(|call| AuditEntry::Call(Box::new(call))));
                }
                LogEntry::TurnEnded {
                    at,
                    end: TurnEnd::Cancelled(cause),
                } => entries.push(AuditEntry::Cancelled {
                    at: *at,
                    by: canceller(&turn.turn, deliveries),
                    cause: *cause,
                    turn: turn.turn.clone(),
                }),
                LogEntry::ModelCallEnded { why, .. } => {
                    failure = match why {
                        ModelCallEnd::Failed(failure) => Some(failure.clone()),
                        ModelCallEnd::Cancelled | ModelCallEnd::Lost => None,
                    };
                }
                LogEntry::TargetChosen {
                    at,
                    attempt,
                    choice,
                    model,
                    target: _,
                } => entries.push(AuditEntry::Target(Box::new(AuditedTarget {
                    at: *at,
                    attempt: *attempt,
                    choice: Arc::clone(choice),
                    failure: failure.take(),
                    model: model.clone(),
                    route: turn.setup.route.clone(),
                    turn: turn.turn.clone(),
                }))),
                LogEntry::CallClosed { .. }
                | LogEntry::CallLost { .. }
                | LogEntry::Resumed { .. }
                | LogEntry::TurnEnded { .. } => {}
            }
        }
    }
    entries
}

/// The sender of the cancel of a turn.
fn canceller(turn: &TurnId, deliveries: &[Delivery]) -> Option<Arc<str>> {
    let mut cancels = deliveries.iter().filter(
        |delivery| matches!(&delivery.body, DeliveryBody::Cancel { turn: of, .. } if of == turn),
    );
    cancels.next().map(|delivery| Arc::clone(&delivery.by))
}

/// The arguments in the place of the model's. An answer counts even if no process has consumed it yet.
fn edited(call: &CallLog, questions: &[WaitLog]) -> Option<Arc<ToolInput>> {
    let open = questions
        .iter()
        .filter(|question| question.closed.is_none());
    let mut given = open.filter_map(|question| match &question.answered {
        Some((
            _,
            WaitEnd::Answered {
                answer:
                    Answer::Approval(Approval::Granted {
                        edited: Some(fields),
                        ..
                    }),
                ..
            },
        )) => Some(JsonInput::from(fields.as_ref().clone())),
        Some(_) | None => None,
    });
    let given = given
        .next_back()
        .map(|input| Arc::new(ToolInput::Json(input)));
    given.or_else(|| call.edited().cloned())
}

/// The name of the decider if it was a rule.
pub const POLICY: &str = "policy";

/// How much of an outcome's text an audit contains, in bytes.
const BEGINNING: usize = 200;
