//! The properties, checked at every step. Each is a test by its name.

use std::collections::{BTreeMap, BTreeSet};

use jackfield_domain::block::Content;
use jackfield_domain::fact::{Fact, ModelCallEnd};
use jackfield_domain::failure::{Disposition, ToolFailureKind};
use jackfield_domain::ids::{IdempotencyKey, ModelAttempt, ToolCallId};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::reply::FinishReason;
use jackfield_domain::rules;
use jackfield_domain::session::Session;
use jackfield_domain::tool_loop::{Action, Input, Step, ToolLoop};
use jackfield_domain::wait::{Answer, Approval, DeliveryBody, UnknownAnswer, WaitEnd};

use super::compactions::is_compaction;
use super::oracle::{Oracle, Status};
use super::{Class, World};

/// What holds at every step.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Property {
    ApprovalsAreUsedOnce,
    ActsOnlyOnWhatIsCommitted,
    AnswersInTimeBeatTheExpiry,
    CallsAreClosedOnce,
    CancelEndsInOneStep,
    CompactionsKeepTheRest,
    EveryTurnEnds,
    FactsFoldIntoTheLiveState,
    ForbiddenIsNotStarted,
    ForksAreValid,
    GrantsStayGranted,
    LateAnswersNeverSpeak,
    LogsAgreeWithTurns,
    MessagesAreValid,
    NothingAfterTheEnd,
    OffersAreAppended,
    OnlyOfferedToolsRun,
    OutcomesKeepCallOrder,
    PaysForWhatItBegins,
    RecoveryFollowsTheTable,
    RepeatsOnlyWhatMayBeRepeated,
    ReplayIsTheSame,
    RequestsAreFound,
    RequestsFollowTheSetup,
    ShownIsWhatTheJournalSays,
    SpendingAddsUp,
    StartsOnlyWhenASlotIsFree,
    TargetsFollowTheSetup,
    TimeoutsAreUnknown,
    TranscriptOnlyGrows,
    TriesInVainAreCounted,
    UnusableRepliesAreAskedForOnceMore,
    ViewsAreTheSame,
    ViewsAreWhatIsKept,
    VisibleTextStays,
}

impl World {
    /// Checks a step that was just decided and is not committed yet.
    pub(crate) fn check_step(&mut self, step: &Step, context: Option<(&ToolLoop, &Input)>) {
        self.check_fold(step);
        self.check_messages();
        self.check_facts(step);
        self.check_forks(step);
        self.check_log(step);
        self.check_offers(step);
        self.check_paid(step);
        self.check_targets(step);
        self.check_compactions(step);
        self.check_today(step);
        self.check_tries(step);
        self.check_unusable(step);
        if let Some((before, input)) = context {
            self.check_growth(before, step);
            self.check_end(before, step);
            self.check_cancel(before, input);
            self.check_timeout(before, input, step);
        }
        self.classify(step, context.map(|(_, input)| input));
    }

    /// Folding all facts so far gives the live machine's durable state.
    fn check_fold(&mut self, step: &Step) {
        let facts = self.committed.iter().chain(&step.facts);
        let folded = Session::fold(self.session().clone(), facts);
        let turn = self.machine.turn();
        let same = match folded.open_turn() {
            Some(open) => open == turn,
            None => {
                turn.end().is_some() && **folded.messages() == *turn.messages_for_model().join()
            }
        };
        if !same {
            let detail = format!("{folded:?}\nis not\n{turn:?}");
            self.violate(Property::FactsFoldIntoTheLiveState, detail);
        }
    }

    fn check_messages(&mut self) {
        let messages = self.machine.turn().messages_for_model().clone();
        if let Err(violation) = rules::check_history(messages.iter()) {
            self.violate(Property::MessagesAreValid, violation.to_string());
        }
        let mut calls: Vec<ToolCallId> = Vec::new();
        for message in messages.iter() {
            if message.role == Role::Tool {
                let outcomes = outcomes_in(message);
                if outcomes != calls {
                    let detail = format!("{outcomes:?} answer {calls:?}");
                    self.violate(Property::OutcomesKeepCallOrder, detail);
                }
            }
            calls = message.calls().map(|call| call.id.clone()).collect();
        }
    }

    fn check_facts(&mut self, step: &Step) {
        let mut oracle = Oracle::fold(&self.committed);
        let parallel = self.setup.limits.parallel_calls as usize;
        for fact in &step.facts {
            match fact {
                Fact::CallClosed {
                    call,
                    result,
                    shown,
                    ..
                } => {
                    if oracle.status(call) == Some(&Status::Closed) {
                        self.violate(Property::CallsAreClosedOnce, format!("{call} twice"));
                    }
                    let fits = result.size() <= self.setup.limits.shown;
                    if shown.is_none() != fits {
                        let detail = format!("{} bytes, shown {shown:?}", result.size());
                        self.violate(Property::ShownIsWhatTheJournalSays, detail);
                    }
                }
                Fact::ModelCallStarted { attempt, .. } => {
                    if !oracle.all_closed() {
                        let detail = "a model call with open calls".to_owned();
                        self.violate(Property::CallsAreClosedOnce, detail);
                    }
                    self.check_taken_back(*attempt, &oracle);
                    let limits = self.setup.limits;
                    if attempt.round > limits.rounds.max(1)
                        || oracle.failures > limits.model_retries
                    {
                        self.violate(
                            Property::EveryTurnEnds,
                            format!("{attempt:?} is over the limit"),
                        );
                    }
                }
                Fact::WaitClosed {
                    end: WaitEnd::Expired,
                    wait,
                    ..
                } => {
                    let answered = self.inbox.iter().any(|known| {
                        matches!(&known.body, DeliveryBody::Answer { wait: id, .. } if id == wait)
                    });
                    if answered {
                        let detail = format!("{wait} expired with an answer in the inbox");
                        self.violate(Property::AnswersInTimeBeatTheExpiry, detail);
                    }
                }
                _ => {}
            }
            self.check_approval(fact, step);
            oracle.apply(fact);
            if oracle.running() > parallel {
                let detail = format!("{} run, {parallel} may", oracle.running());
                self.violate(Property::StartsOnlyWhenASlotIsFree, detail);
            }
        }
        self.check_shown();
    }

    /// A call that needs somebody's word starts under an answer that allowed it, and each answer lets one
    /// call start, unless it was given for the session.
    fn check_approval(&mut self, fact: &Fact, step: &Step) {
        let Fact::CallStarted {
            approval, attempt, ..
        } = fact
        else {
            return;
        };
        let Some(call) = self.name_of(&attempt.call, step) else {
            return;
        };
        if !call.starts_with("ask") {
            return;
        }
        let facts: Vec<&Fact> = self.committed.iter().chain(&step.facts).collect();
        let named = |fact: &&&Fact| matches!(fact, Fact::WaitClosed { wait, .. } if Some(wait) == approval.as_ref());
        let allowed = facts.iter().find(named).map(|fact| match fact {
            Fact::WaitClosed {
                end:
                    WaitEnd::Answered {
                        answer: Answer::Approval(Approval::Granted { for_session, .. }),
                        ..
                    },
                subject: Some(_),
                ..
            } => Some(*for_session),
            _ => None,
        });
        let used = facts
            .iter()
            .filter(|fact| matches!(fact, Fact::CallStarted { approval: other, .. } if other == approval))
            .count();
        let fits = match allowed.flatten() {
            Some(true) => true,
            Some(false) => used == 1,
            None => false,
        };
        if !fits {
            let detail = format!("{attempt:?} started under {approval:?}, used {used} times");
            self.violate(Property::ApprovalsAreUsedOnce, detail);
        }
    }

    /// The name of a call's tool.
    fn name_of(&self, call: &ToolCallId, step: &Step) -> Option<String> {
        let facts = self.committed.iter().chain(&step.facts);
        let replies = facts.filter_map(|fact| match fact {
            Fact::ReplyReceived { reply, .. } => Some(reply),
            _ => None,
        });
        let mut calls = replies.flat_map(|reply| reply.message.calls());
        let found = calls.find(|known| known.id == *call);
        found.map(|call| call.name.as_str().to_owned())
    }

    /// Text that cannot be taken back is not followed by another try, unless the process died.
    fn check_taken_back(&mut self, attempt: ModelAttempt, oracle: &Oracle) {
        let previous = ModelAttempt {
            attempt: attempt.attempt - 1,
            ..attempt
        };
        let failed = matches!(oracle.last_reply_end, Some(ModelCallEnd::Failed(_)));
        if failed && oracle.visible_partial == Some(previous) && !self.setup.can_supersede {
            self.violate(
                Property::VisibleTextStays,
                format!("{attempt:?} after visible text"),
            );
        }
    }

    /// Every outcome in the messages is what its fact says, cut where the fact says.
    fn check_shown(&mut self) {
        let facts: BTreeMap<&ToolCallId, _> = self
            .committed
            .iter()
            .filter_map(|fact| match fact {
                Fact::CallClosed {
                    call,
                    result,
                    shown,
                    ..
                } => Some((call, (result, shown))),
                _ => None,
            })
            .collect();
        let mut wrong = Vec::new();
        for message in self.machine.turn().messages_for_model().iter() {
            for block in &message.blocks {
                let Content::ToolOutcome(outcome) = &block.content else {
                    continue;
                };
                let Some((result, shown)) = facts.get(&outcome.call) else {
                    continue;
                };
                let cut = shown.and_then(|limit| result.cut(limit));
                if outcome.result != cut.unwrap_or_else(|| (***result).clone()) {
                    wrong.push(format!("{outcome:?} is not {result:?} cut at {shown:?}"));
                }
            }
        }
        for detail in wrong {
            self.violate(Property::ShownIsWhatTheJournalSays, detail);
        }
    }

    fn check_growth(&mut self, before: &ToolLoop, step: &Step) {
        let old = before.turn().messages_for_model();
        let new = self.machine.turn().messages_for_model();
        if step.facts.iter().any(is_compaction) {
            return self.check_compaction(before, step);
        }
        if old.len() > new.len() || old.iter().zip(new.iter()).any(|(old, new)| old != new) {
            self.violate(
                Property::TranscriptOnlyGrows,
                format!("{old:?}\nthen\n{new:?}"),
            );
        }
    }

    fn check_end(&mut self, before: &ToolLoop, step: &Step) {
        let only_late = step.facts.iter().all(|fact| matches!(fact, Fact::Late(_)));
        if before.is_over() && (!only_late || !step.actions.is_empty()) {
            self.violate(Property::NothingAfterTheEnd, format!("{step:?}"));
        }
        let ends = step
            .facts
            .iter()
            .filter(|fact| matches!(fact, Fact::TurnEnded { .. }))
            .count();
        let finishes = step
            .actions
            .iter()
            .filter(|a| matches!(a, Action::Finish(_)))
            .count();
        if ends != finishes
            || ends > 1
            || (ends == 1) != (self.machine.is_over() && !before.is_over())
        {
            self.violate(
                Property::NothingAfterTheEnd,
                format!("{ends} ends, {finishes} finishes"),
            );
        }
    }

    fn check_cancel(&mut self, before: &ToolLoop, input: &Input) {
        let Input::Delivered(delivery) = input else {
            return;
        };
        if matches!(delivery.body, DeliveryBody::Cancel { .. })
            && !before.is_over()
            && !self.machine.is_over()
        {
            self.violate(Property::CancelEndsInOneStep, "it goes on".to_owned());
        }
    }

    /// A call that took too long is lost, and nobody knows what it did.
    fn check_timeout(&mut self, before: &ToolLoop, input: &Input, step: &Step) {
        if !matches!(input, Input::Woke) || before.is_over() {
            return;
        }
        let oracle = Oracle::fold(&self.committed);
        let unknown: BTreeSet<&ToolCallId> = step
            .facts
            .iter()
            .filter_map(|fact| match fact {
                Fact::CallLost {
                    attempt,
                    disposition: Disposition::Unknown,
                    kind,
                    ..
                } if *kind == ToolFailureKind::Timeout => Some(&attempt.call),
                _ => None,
            })
            .collect();
        for fact in &step.facts {
            let call = match fact {
                Fact::CallClosed { call, .. } => call,
                Fact::CallLost { attempt, .. } => &attempt.call,
                _ => continue,
            };
            let ran = matches!(oracle.status(call), Some(Status::Started { .. }));
            if ran && !unknown.contains(call) {
                let detail = format!("{call} is closed by time as if its outcome were known");
                self.violate(Property::TimeoutsAreUnknown, detail);
            }
        }
    }

    /// Checks an action that is about to be performed.
    pub(crate) fn check_action(&mut self, action: &Action) {
        match action {
            Action::CallModel { attempt, request } if attempt.is_compaction() => {
                self.check_summary_request(*attempt, request);
            }
            Action::CallModel { attempt, request } => {
                let started = self.committed.iter().any(
                    |f| matches!(f, Fact::ModelCallStarted { attempt: a, .. } if a == attempt),
                );
                if !started {
                    self.violate(Property::ActsOnlyOnWhatIsCommitted, format!("{attempt:?}"));
                }
                let setup = self.committed.iter().find_map(|fact| match fact {
                    Fact::TurnOpened { setup, .. } => Some(setup),
                    _ => None,
                });
                let asked = (
                    &request.model,
                    &request.settings,
                    request.strict,
                    &request.system,
                );
                let target = self.committed.iter().rev().find_map(|fact| match fact {
                    Fact::ModelCallStarted { target, .. } => Some(*target),
                    _ => None,
                });
                let set = setup.zip(target).and_then(|(set, target)| {
                    let model = set.model_of(target)?;
                    Some((model, &set.settings, set.strict, &set.system))
                });
                if set != Some(asked) {
                    self.violate(
                        Property::RequestsFollowTheSetup,
                        format!("{attempt:?}: {asked:?}"),
                    );
                }
                let paused = self.committed.iter().rev().find_map(|fact| match fact {
                    Fact::ReplyReceived { reply, .. } => Some(&reply.end.finish),
                    _ => None,
                }) == Some(&FinishReason::Paused);
                let valid = if paused {
                    rules::check_history(request.messages.iter())
                } else {
                    rules::check_request(request.messages.iter())
                };
                let last = request.messages.iter().next_back();
                if !paused && last.is_some_and(|last| last.role == Role::Assistant) {
                    let detail = "the model is asked to answer itself".to_owned();
                    self.violate(Property::MessagesAreValid, detail);
                }
                if let Err(violation) = valid {
                    self.violate(Property::MessagesAreValid, violation.to_string());
                }
            }
            Action::RunTool(run) => {
                let started = self.committed.iter().any(
                    |f| matches!(f, Fact::CallStarted { attempt, .. } if *attempt == run.attempt),
                );
                if !started {
                    self.violate(
                        Property::ActsOnlyOnWhatIsCommitted,
                        format!("{:?}", run.attempt),
                    );
                }
                if run.key != IdempotencyKey::derive(&run.attempt.call) {
                    let detail = "another key for the same call".to_owned();
                    self.violate(Property::RepeatsOnlyWhatMayBeRepeated, detail);
                }
                self.check_repetition(&run.attempt.call, &run.tool.tool);
            }
            Action::AbandonTool { .. }
            | Action::Abort(_)
            | Action::Finish(_)
            | Action::OpenWait(_)
            | Action::ResumeTool { .. } => {}
        }
    }

    /// What must not be repeated is never asked for twice.
    fn check_repetition(&mut self, call: &ToolCallId, tool: &str) {
        let before: u32 = self
            .runs()
            .iter()
            .filter(|(run, _)| run.call == *call)
            .map(|(_, times)| times)
            .sum();
        let by_hand = self
            .committed
            .iter()
            .filter(|fact| match fact {
                Fact::WaitClosed {
                    end: WaitEnd::Answered { answer, .. },
                    ..
                } => {
                    matches!(answer, Answer::UnknownOutcome(UnknownAnswer::Retry))
                }
                _ => false,
            })
            .count();
        let may = match tool {
            "find_tools" | "read" => u32::MAX,
            "again" | "ask_again" => 2,
            _ => u32::try_from(by_hand).unwrap_or(u32::MAX),
        };
        if before > may {
            let detail = format!("{tool} was asked for {} times", before + 1);
            self.violate(Property::RepeatsOnlyWhatMayBeRepeated, detail);
        }
    }

    /// What was told before changes nothing when it is told again, but what it costs.
    /// What is delivered of a call that was given up changes nothing at all.
    pub(crate) fn check_late(&mut self, before: &ToolLoop, input: &Input, step: &Step) {
        let Input::Delivered(delivery) = input else {
            return;
        };
        let nothing = step.facts.is_empty() && step.actions.is_empty();
        let same = before.turn() == self.machine.turn();
        if matches!(delivery.body, DeliveryBody::Late { .. }) && !(nothing && same) {
            self.violate(
                Property::LateAnswersNeverSpeak,
                format!("{input:?} gave {step:?}"),
            );
        }
    }

    pub(crate) fn check_repeated(&mut self, before: &ToolLoop, input: &Input, step: &Step) {
        let is_answer = !matches!(input, Input::Woke);
        let only_late = step.facts.iter().all(|fact| matches!(fact, Fact::Late(_)));
        let same = before.turn().messages_for_model() == self.machine.turn().messages_for_model();
        if is_answer && (!only_late || !step.actions.is_empty() || !same) {
            self.violate(
                Property::LateAnswersNeverSpeak,
                format!("{input:?} gave {step:?}"),
            );
        }
        if step.facts.iter().any(|fact| matches!(fact, Fact::Late(_))) {
            self.classes.insert(Class::LateAnswer);
        }
    }
}

/// The calls that a message holds the outcomes of, in order.
fn outcomes_in(message: &Message) -> Vec<ToolCallId> {
    let outcome = |content: &Content| match content {
        Content::ToolOutcome(outcome) => Some(outcome.call.clone()),
        _ => None,
    };
    message
        .blocks
        .iter()
        .filter_map(|block| outcome(&block.content))
        .collect()
}
