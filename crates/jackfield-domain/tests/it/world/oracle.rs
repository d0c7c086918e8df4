//! The oracle: what the journal says of each call, by an account of its own, and what recovery owes it.

use std::collections::BTreeMap;

use jackfield_domain::fact::{AfterLoss, Fact, ModelCallEnd, TurnEnd};
use jackfield_domain::failure::{Disposition, ModelFailureKind};
use jackfield_domain::ids::{ModelAttempt, ToolAttempt, ToolCallId};
use jackfield_domain::request::Attempt;
use jackfield_domain::tool_loop::{Action, Step, ToolLoop};
use jackfield_domain::wait::{Answer, Approval, DeliveryBody, UnknownAnswer, WaitEnd, WaitKind};

use super::checks::Property;
use super::{Class, World};

/// What the journal says of a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Status {
    Closed,
    Granted,
    NotStarted,
    Started {
        attempt: ToolAttempt,
        handle: bool,
        may_repeat: bool,
    },
    Undecided,
    Waiting {
        kind: &'static str,
    },
}

impl Status {
    /// Whether a recovery may start it, or start it again.
    const fn may_start(&self) -> bool {
        match self {
            Self::Closed | Self::Undecided | Self::Waiting { .. } => false,
            Self::Started { handle, .. } => !*handle,
            Self::Granted | Self::NotStarted => true,
        }
    }
}

/// What the journal says.
#[derive(Debug, Default)]
pub(crate) struct Oracle {
    calls: BTreeMap<ToolCallId, (String, Status)>,
    pub(crate) failures: u32,
    target: u32,
    pub(crate) last_reply_end: Option<ModelCallEnd>,
    /// A model call that was started and has not ended.
    pub(crate) open_reply: Option<ModelAttempt>,
    retrying: bool,
    round: u32,
    pub(crate) visible_partial: Option<ModelAttempt>,
    waits: BTreeMap<String, ToolCallId>,
}

impl Oracle {
    pub(crate) fn fold(facts: &[Fact]) -> Self {
        let mut oracle = Self::default();
        facts.iter().for_each(|fact| oracle.apply(fact));
        oracle
    }

    pub(crate) fn apply(&mut self, fact: &Fact) {
        match fact {
            Fact::ModelCallStarted {
                attempt, target, ..
            } => {
                if attempt.round != self.round || *target != self.target {
                    self.failures = 0;
                }
                self.target = *target;
                self.round = attempt.round;
                self.open_reply = Some(*attempt);
                self.retrying = false;
            }
            Fact::ModelCallEnded {
                at_once,
                attempt,
                partial,
                retry_at,
                why,
                ..
            } => {
                self.open_reply = None;
                self.retrying = retry_at.is_some();
                self.last_reply_end = Some(why.clone());
                if let ModelCallEnd::Failed(failure) = why {
                    // Nothing else is done about a request that is too long.
                    let is_too_long = is_too_long(why) && retry_at.is_some();
                    let is_pause = failure.is_of_budget();
                    self.failures += u32::from(!at_once && !is_too_long && !is_pause);
                    self.visible_partial = partial.as_ref().map(|_| *attempt);
                }
            }
            Fact::ReplyReceived { reply, .. } => {
                self.open_reply = None;
                self.calls = reply
                    .message
                    .calls()
                    .map(|call| {
                        let status = Status::NotStarted;
                        (call.id.clone(), (call.name.as_str().to_owned(), status))
                    })
                    .collect();
            }
            Fact::CallStarted {
                attempt,
                may_repeat,
                ..
            } => {
                let (attempt, may_repeat) = (attempt.clone(), *may_repeat);
                let call = attempt.call.clone();
                self.set(
                    &call,
                    Status::Started {
                        attempt,
                        handle: false,
                        may_repeat,
                    },
                );
            }
            Fact::CallAccepted { attempt, .. } => {
                if let Some((_, Status::Started { handle, .. })) = self.calls.get_mut(&attempt.call)
                {
                    *handle = true;
                }
            }
            Fact::CallLost { attempt, then, .. } => {
                let again = *then == AfterLoss::Repeat;
                let status = if again {
                    Status::NotStarted
                } else {
                    Status::Undecided
                };
                self.set(&attempt.call, status);
            }
            Fact::CallClosed { call, .. } => self.set(call, Status::Closed),
            Fact::WaitOpened { wait } => {
                let kind = match wait.kind {
                    WaitKind::Approval { .. } => "approval",
                    WaitKind::Budget { .. } => "budget",
                    WaitKind::ClientResult => "client",
                    WaitKind::Elicitation { .. } => "elicitation",
                    WaitKind::UnknownOutcome => "unknown",
                };
                self.waits.insert(wait.id.to_string(), wait.call.clone());
                self.set(&wait.call, Status::Waiting { kind });
            }
            Fact::WaitClosed { end, wait, .. } => {
                let Some(call) = self.waits.remove(wait.as_str()) else {
                    return;
                };
                let status = match end {
                    WaitEnd::Answered { answer, .. } => match answer {
                        Answer::Approval(Approval::Granted { .. }) => Status::Granted,
                        Answer::UnknownOutcome(UnknownAnswer::Retry) => Status::NotStarted,
                        Answer::Elicitation(_) => Status::Started {
                            attempt: ToolAttempt {
                                call: call.clone(),
                                attempt: 0,
                            },
                            handle: true,
                            may_repeat: false,
                        },
                        _ => Status::Undecided,
                    },
                    _ => Status::Undecided,
                };
                self.set(&call, status);
            }
            Fact::BackendSession { .. }
            | Fact::Compacted(_)
            | Fact::Late(_)
            | Fact::SessionForked { .. }
            | Fact::SessionImported { .. }
            | Fact::TurnEnded { .. }
            | Fact::TurnOpened { .. }
            | Fact::TurnResumed { .. } => {}
        }
    }

    pub(crate) fn status(&self, call: &ToolCallId) -> Option<&Status> {
        self.calls.get(call).map(|(_, status)| status)
    }

    pub(crate) fn all_closed(&self) -> bool {
        self.calls
            .values()
            .all(|(_, status)| *status == Status::Closed)
    }

    /// Whether a call was started and nothing is asked about it.
    pub(crate) fn is_at_work(&self) -> bool {
        let mut calls = self.calls.values();
        calls.any(|(_, status)| matches!(status, Status::Started { .. }))
    }

    /// How many calls are at work; one whose tool has asked something is.
    pub(crate) fn running(&self) -> usize {
        let at_work = |status: &Status| {
            matches!(
                status,
                Status::Started { .. }
                    | Status::Waiting {
                        kind: "elicitation"
                    }
            )
        };
        self.calls
            .values()
            .filter(|(_, status)| at_work(status))
            .count()
    }

    fn set(&mut self, call: &ToolCallId, status: Status) {
        if let Some((_, known)) = self.calls.get_mut(call) {
            *known = status;
        }
    }
}

/// Whether a request was longer than the model's context.
pub(crate) const fn is_too_long(why: &ModelCallEnd) -> bool {
    matches!(why, ModelCallEnd::Failed(failure) if matches!(failure.kind, ModelFailureKind::ContextTooLong { .. }))
}

impl World {
    /// Every row of the recovery table, by the oracle's account.
    pub(crate) fn check_recovery(&mut self, machine: &ToolLoop, step: &Step) {
        if !matches!(step.facts.first(), Some(Fact::TurnResumed { .. })) {
            let detail = "recovery did not begin by saying so".to_owned();
            self.violate(Property::RecoveryFollowsTheTable, detail);
        }
        let oracle = Oracle::fold(&self.committed);
        let pending = self.inbox.iter().any(|known| match &known.body {
            DeliveryBody::Answer { wait, .. } => oracle.waits.contains_key(wait.as_str()),
            DeliveryBody::Cancel { .. } => true,
            DeliveryBody::Late { .. }
            | DeliveryBody::Withdrawn { .. }
            | DeliveryBody::Written { .. } => false,
        });
        if pending {
            // The inbox is consumed first; what that changes is another property's business.
            self.classes.insert(Class::InboxInRecovery);
            return;
        }
        if let Some(attempt) = oracle.open_reply {
            self.classes.insert(Class::RoundWithoutReply);
            let next = ModelAttempt {
                attempt: attempt.attempt + 1,
                ..attempt
            };
            let called = step.actions.iter().any(
                |action| matches!(action, Action::CallModel { attempt, .. } if *attempt == next),
            );
            // What was lost may have cost what the next try needs.
            let allowance = machine.turn().setup().allowance;
            let may_be_poor = allowance.tokens.is_some() || allowance.cost.is_some();
            let is_spent =
                may_be_poor && matches!(machine.turn().end(), Some(TurnEnd::Limited { .. }));
            if !called && !is_spent || machine.turn().lost_replies() == 0 {
                let detail = format!("{attempt:?} was lost and not called again");
                self.violate(Property::RecoveryFollowsTheTable, detail);
            }
        }
        if oracle.retrying {
            self.classes.insert(Class::RetryScheduled);
            let calls = step
                .actions
                .iter()
                .any(|a| matches!(a, Action::CallModel { .. }));
            if !calls && step.wake.is_none() {
                let detail = "a scheduled retry is forgotten".to_owned();
                self.violate(Property::RecoveryFollowsTheTable, detail);
            }
        }
        for (call, (name, status)) in &oracle.calls {
            // What becomes of these is another property's business.
            if self.today.tools.keys().any(|tool| tool.as_str() == name) && status.may_start() {
                self.classes.insert(Class::RestrictedCall);
                continue;
            }
            if let Err(detail) = owed(call, name, status, step, &mut self.classes) {
                let property = match status {
                    Status::Granted => Property::GrantsStayGranted,
                    _ => Property::RecoveryFollowsTheTable,
                };
                self.violate(property, format!("{name} was {status:?}: {detail}"));
            }
        }
    }
}

/// What recovery owes a call.
fn owed(
    call: &ToolCallId,
    name: &str,
    status: &Status,
    step: &Step,
    classes: &mut std::collections::BTreeSet<Class>,
) -> Result<(), String> {
    let lost = step.facts.iter().find_map(|fact| match fact {
        Fact::CallLost {
            attempt,
            disposition,
            then,
            ..
        } if attempt.call == *call => Some((*disposition, *then)),
        _ => None,
    });
    let closed = step
        .facts
        .iter()
        .any(|f| matches!(f, Fact::CallClosed { call: c, .. } if c == call));
    let asked = step
        .facts
        .iter()
        .any(|f| matches!(f, Fact::WaitOpened { wait } if wait.call == *call));
    let run = step.actions.iter().find_map(|action| match action {
        Action::RunTool(run) if run.attempt.call == *call => Some(run),
        _ => None,
    });
    let expect = |holds: bool, what: &str| if holds { Ok(()) } else { Err(what.to_owned()) };
    match status {
        Status::Closed => {
            classes.insert(Class::FinishedCall);
            expect(
                lost.is_none() && !closed && run.is_none(),
                "a finished call was touched",
            )
        }
        Status::Granted => {
            classes.insert(Class::GrantedCall);
            expect(
                lost.is_none() && !closed && !asked,
                "a granted call was not left granted",
            )
        }
        Status::NotStarted => {
            classes.insert(Class::CallNotStarted);
            expect(
                lost.is_none() && !closed && !asked,
                "a call that had not started was not left so",
            )
        }
        Status::Started { handle: true, .. } => {
            classes.insert(Class::AcceptedCall);
            let resumed = step.actions.iter().any(
                |action| matches!(action, Action::ResumeTool { attempt, .. } if attempt.call == *call),
            );
            expect(
                resumed && run.is_none() && lost.is_none(),
                "a job was not polled",
            )
        }
        Status::Started {
            may_repeat: true,
            attempt,
            ..
        } => {
            classes.insert(Class::RepeatableCall);
            let again =
                run.is_none_or(|run| run.fresh && run.attempt.attempt == attempt.attempt + 1);
            expect(
                lost == Some((Disposition::Unknown, AfterLoss::Repeat)) && again && !closed,
                "a repeatable call was not run again",
            )
        }
        Status::Started { attempt, .. } => {
            classes.insert(Class::UnknownCall);
            let then = match name {
                "careful" => AfterLoss::Ask,
                "again" | "ask_again" if attempt.attempt < 3 => AfterLoss::Repeat,
                _ => AfterLoss::Report,
            };
            let told = match then {
                AfterLoss::Ask => asked && !closed,
                // It is asked about again, unless it was allowed for the session.
                AfterLoss::Repeat => !closed && (!asked || name == "ask_again"),
                AfterLoss::Report => closed && !asked,
            };
            expect(
                lost == Some((Disposition::Unknown, then)) && told,
                "an unknown call did not go by policy",
            )
        }
        Status::Undecided => Err("a step left it undecided".to_owned()),
        Status::Waiting { kind } => {
            classes.insert(match *kind {
                "approval" => Class::WaitingApproval,
                "client" => Class::WaitingClient,
                "elicitation" => Class::WaitingElicitation,
                _ => Class::WaitingUnknown,
            });
            let opened = step
                .actions
                .iter()
                .any(|action| matches!(action, Action::OpenWait(wait) if wait.call == *call));
            expect(
                opened && !asked && !closed && lost.is_none(),
                "a wait did not stay",
            )
        }
    }
}

impl World {
    /// Notes which classes a step reached.
    pub(crate) fn classify(
        &mut self,
        step: &Step,
        input: Option<&jackfield_domain::tool_loop::Input>,
    ) {
        let oracle = Oracle::fold(&self.committed);
        if self.machine.turn().waits().count() >= 2 {
            self.classes.insert(Class::TwoWaits);
        }
        if self.is_recovering() {
            self.classes.insert(Class::Recovery);
        }
        let cancelled = step.facts.iter().any(|fact| {
            matches!(
                fact,
                Fact::TurnEnded {
                    end: TurnEnd::Cancelled(_),
                    ..
                }
            )
        });
        if cancelled && oracle.running() > 0 {
            self.classes.insert(Class::CancelDuringATool);
        }
        if cancelled && oracle.open_reply.is_some() {
            self.classes.insert(Class::CancelDuringAReply);
        }
        if step.facts.iter().any(|f| {
            matches!(
                f,
                Fact::WaitClosed {
                    end: WaitEnd::Expired,
                    ..
                }
            )
        }) {
            self.classes.insert(Class::WaitExpired);
        }
        if let Some(jackfield_domain::tool_loop::Input::Woke) = input
            && step
                .actions
                .iter()
                .any(|a| matches!(a, Action::Abort(Attempt::Tool(_))))
        {
            self.classes.insert(Class::ToolTimeout);
        }
        for fact in &step.facts {
            if let Fact::TurnEnded { end, .. } = fact {
                self.classes.insert(match end {
                    TurnEnd::Answered(_) => Class::EndAnswered,
                    TurnEnd::Cancelled(_) => Class::EndCancelled,
                    TurnEnd::ClientExpired => Class::EndClientExpired,
                    TurnEnd::Failed(_) => Class::EndFailed,
                    TurnEnd::Interrupted(_) => Class::EndInterrupted,
                    TurnEnd::Limited { .. } => Class::EndLimited,
                });
            }
        }
    }

    /// Notes in which state the process dies.
    pub(crate) fn count_crash(&mut self) {
        if self.is_recovering() {
            self.classes.insert(Class::CrashInRecovery);
        }
        let oracle = Oracle::fold(&self.committed);
        if oracle.running() >= 2 {
            self.classes.insert(Class::CrashWithTwoRunning);
        }
    }
}
