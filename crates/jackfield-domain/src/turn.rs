//! The durable state of a turn: the fold of its facts, and nothing else.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crate::approval::Grants;
use crate::block::RanBy;
use crate::digest::Digest;
use crate::fact::{AfterLoss, CallEnd, Fact, ModelCallEnd, ToolUse, TurnEnd};
use crate::failure::ModelFailureKind;
use crate::ids::{ModelAttempt, ToolCallId, TurnId};
use crate::message::{Message, Messages};
use crate::outcome::{ToolOutcome, ToolResult};
use crate::reply::Reply;
use crate::restrictions::Restrictions;
use crate::routing::Hops;
use crate::setup::{InputCount, Opening, Setup};
use crate::target::{AttemptTargets, TargetReason};
use crate::time::WallTime;
use crate::tool::ToolDefinition;
use crate::usage::Usage;
use crate::wait::{Wait, WaitKind};

mod batch;
mod client_ledger;
mod compaction;
mod context;
mod opening;
mod spending;
mod targets;
mod tries;
mod view;
mod waits;

pub(crate) use self::batch::{Batch, BatchCall, CallGrant, CallState, RunningCall};
use self::batch::{call_fingerprint, dedup_calls, drop_blank_blocks};
use self::client_ledger::ClientLedger;
use self::compaction::{Compactions, is_too_long};
use self::opening::{Definitions, definitions, with_client_results};

/// The durable state of a turn. Only [`Turn::apply`] changes it, both live and during recovery.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    pub(crate) active: Duration,
    /// The number of attempts of this round that followed a failure at once.
    pub(crate) at_once: u32,
    pub(crate) attempts: u32,
    /// The provider's id of its own session for the turn, if it keeps one.
    backend_session: Option<Arc<str>>,
    pub(crate) client_expired: bool,
    client_ledger: ClientLedger,
    compactions: Compactions,
    /// What the provider counted for messages before the turn, if it did and they are unchanged.
    counted_before: Option<InputCount>,
    pub(crate) failures: u32,
    /// The number of resumes since its last progress.
    pub(crate) resumes_without_progress: u32,
    /// The session grants that were given in this turn.
    pub(crate) grants: Grants,
    /// The targets of its route that are out.
    hops: Hops,
    /// Whether a reply of this round was unusable.
    pub(crate) had_unusable_reply: bool,
    pub(crate) id: TurnId,
    pub(crate) last_usage: Usage,
    pub(crate) lost_replies: u32,
    pub(crate) messages: Messages,
    pub(crate) no_progress: bool,
    /// The notes so far, by code and path: each round maps the same history, and produces its notes, again.
    pub(crate) seen_notes: BTreeSet<(Cow<'static, str>, String)>,
    pub(crate) ordinal: u32,
    /// The wait for room in a budget, if the turn is paused.
    pub(crate) pause: Option<Wait>,
    pub(crate) repeats: BTreeMap<Digest, RepeatCount>,
    pub(crate) restrictions: Arc<Restrictions>,
    pub(crate) resume_count: u32,
    pub(crate) round: u32,
    pub(crate) setup: Arc<Setup>,
    pub(crate) stage: Stage,
    /// The index of the target of the last attempt.
    pub(crate) target: u32,
    targets: AttemptTargets,
    /// The targets that take tools as text only.
    text_targets: BTreeSet<u32>,
    tools: Definitions,
    pub(crate) tool_use: ToolUse,
    /// The usage of each model call, as far as known.
    pub(crate) usage_by_call: BTreeMap<ModelAttempt, Usage>,
    /// The number of messages that `last_usage` covers; 0 if there is no usage.
    pub(crate) covered_messages: usize,
}

/// How often a call had the same outcome, counted once per round.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct RepeatCount {
    pub(crate) last_round: u32,
    pub(crate) times: u32,
}

/// The stage of a turn.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Stage {
    /// A model call is in flight.
    Calling(ModelAttempt),
    /// It is over.
    Ended(TurnEnd),
    /// The next model call may start.
    Ready,
    /// A model call failed, and is retried at this instant.
    Retrying(WallTime),
    /// The tool calls of a reply are being processed.
    Tools(Batch),
}

impl Turn {
    /// A turn with this opening and setup, after the messages before it.
    #[must_use]
    pub fn open(
        id: TurnId,
        ordinal: u32,
        before: &Arc<Vec<Arc<Message>>>,
        opening: &Opening,
        setup: &Arc<Setup>,
    ) -> Self {
        let messages = match opening {
            Opening::UserMessage(message) => {
                let mut messages = Messages::with_history(Arc::clone(before));
                messages.push(Arc::clone(message));
                messages
            }
            Opening::Transcript(transcript) => {
                Messages::with_history(Arc::new(transcript.messages().to_vec()))
            }
            Opening::ClientResults(results) => {
                with_client_results(before, results, setup.limits.shown)
            }
        };
        Self {
            active: Duration::ZERO,
            at_once: 0,
            attempts: 0,
            backend_session: None,
            client_expired: false,
            client_ledger: ClientLedger::default(),
            compactions: Compactions::default(),
            counted_before: None,
            failures: 0,
            resumes_without_progress: 0,
            grants: Grants::default(),
            hops: Hops::default(),
            had_unusable_reply: false,
            id,
            last_usage: Usage::default(),
            lost_replies: 0,
            no_progress: false,
            seen_notes: BTreeSet::new(),
            ordinal,
            pause: None,
            repeats: BTreeMap::new(),
            restrictions: Arc::default(),
            resume_count: 0,
            round: 0,
            setup: Arc::clone(setup),
            stage: Stage::Ready,
            target: 0,
            targets: AttemptTargets::default(),
            text_targets: BTreeSet::new(),
            tools: Definitions::default(),
            tool_use: ToolUse::Allowed,
            usage_by_call: BTreeMap::new(),
            covered_messages: 0,
            messages,
        }
    }

    /// Its id.
    #[must_use]
    pub const fn id(&self) -> &TurnId {
        &self.id
    }

    /// Its place in the session, from 1.
    #[must_use]
    pub const fn ordinal(&self) -> u32 {
        self.ordinal
    }

    /// Its setup.
    #[must_use]
    pub const fn setup(&self) -> &Arc<Setup> {
        &self.setup
    }

    /// How it ended, if it has.
    #[must_use]
    pub const fn end(&self) -> Option<&TurnEnd> {
        match &self.stage {
            Stage::Ended(end) => Some(end),
            Stage::Calling(_) | Stage::Ready | Stage::Retrying(_) | Stage::Tools(_) => None,
        }
    }

    /// The number of rounds that have begun.
    #[must_use]
    pub const fn rounds(&self) -> u32 {
        self.round
    }

    /// Whether no model call and no tool call is in flight, and no retry is pending.
    #[must_use]
    pub const fn is_between_rounds(&self) -> bool {
        match &self.stage {
            Stage::Ready => true,
            Stage::Calling(_) | Stage::Ended(_) | Stage::Retrying(_) | Stage::Tools(_) => false,
        }
    }

    /// The session grants that were given in this turn.
    #[must_use]
    pub const fn grants(&self) -> &Grants {
        &self.grants
    }

    /// The conversation in a form that can be sent to a model at any time.
    ///
    /// A reply is included only when all of its calls have an outcome.
    #[must_use]
    pub const fn messages_for_model(&self) -> &Messages {
        &self.messages
    }

    /// The tool definitions that are sent to a model.
    pub(crate) fn tools(&self) -> &Arc<Vec<Arc<ToolDefinition>>> {
        self.tools.get(&self.setup, self.messages.history())
    }

    pub(crate) fn calls(&self) -> &[BatchCall] {
        match &self.stage {
            Stage::Tools(batch) => &batch.calls,
            Stage::Calling(_) | Stage::Ended(_) | Stage::Ready | Stage::Retrying(_) => &[],
        }
    }

    /// Applies a fact. A fact that does not match the state changes nothing.
    pub fn apply(&mut self, fact: &Fact) {
        self.apply_usage(fact);
        if fact.is_progress() {
            self.resumes_without_progress = 0;
        }
        match fact {
            Fact::ModelCallStarted {
                active,
                attempt,
                choice,
                target,
                tools,
                ..
            } => {
                let reason = choice.as_ref().map(|choice| choice.reason);
                let is_last_left = reason.map(|reason| reason == TargetReason::LastLeft);
                self.hops.call(*target, is_last_left);
                if attempt.round != self.round || *target != self.target {
                    self.at_once = 0;
                    self.failures = 0;
                    self.had_unusable_reply = false;
                }
                self.targets.add(*attempt, *target);
                self.target = *target;
                self.active = *active;
                self.round = attempt.round;
                self.attempts = attempt.attempt;
                self.compactions.is_too_long = false;
                self.tool_use = *tools;
                self.stage = Stage::Calling(*attempt);
            }
            Fact::ModelCallEnded {
                at_once,
                partial,
                retry_at,
                why,
                ..
            } => {
                self.compactions.is_too_long = !at_once
                    && retry_at.is_some()
                    && self.setup.compaction.is_some()
                    && is_too_long(why);
                // A budget is the fault of no target.
                if let ModelCallEnd::Failed(failure) = why
                    && !failure.is_of_budget()
                {
                    let targets = self.hop_targets();
                    self.hops.fail(self.target, failure, &targets);
                    if failure.wants_tools_as_text() {
                        self.text_targets.insert(self.target);
                    }
                }
                match why {
                    ModelCallEnd::Failed(_) if *at_once => self.at_once += 1,
                    // The compaction that follows is no retry.
                    ModelCallEnd::Failed(_) if self.compactions.is_too_long => {}
                    // Nor is the call after a pause.
                    ModelCallEnd::Failed(failure) if failure.is_of_budget() => {}
                    ModelCallEnd::Failed(failure) => {
                        self.failures += 1;
                        self.hops.pause();
                        self.had_unusable_reply |= failure.kind == ModelFailureKind::UnusableReply;
                    }
                    ModelCallEnd::Lost => self.lost_replies += 1,
                    ModelCallEnd::Cancelled => {}
                }
                if let (Some(partial), None) = (partial, retry_at) {
                    self.messages.push(Arc::clone(partial));
                }
                self.stage = retry_at.map_or(Stage::Ready, Stage::Retrying);
            }
            Fact::ReplyReceived { reply, .. } => self.receive(reply),
            Fact::BackendSession { id, .. } => self.backend_session = Some(Arc::clone(id)),
            Fact::Compacted(compaction) => self.apply_compaction(compaction),
            Fact::TurnEnded { end, .. } => self.stage = Stage::Ended(end.clone()),
            Fact::TurnResumed { nth, restrictions } => {
                self.apply_resume(*nth, restrictions.as_ref());
            }
            Fact::CallAccepted { attempt, handle } => {
                if let Some(CallState::Running(running)) = self.state_of(&attempt.call)
                    && running.attempt == *attempt
                {
                    running.handle = Some(handle.clone());
                }
            }
            Fact::CallClosed {
                call,
                end,
                result,
                revealed,
                shown,
                ..
            } => {
                if let Some(revealed) = revealed {
                    self.apply_revealed(revealed);
                }
                let seen = result.for_models(*shown);
                let shown = seen.unwrap_or_else(|| ToolResult::clone(result));
                self.close_call(call, *end == CallEnd::ClientExpired, shown);
            }
            Fact::CallLost { attempt, then, .. } => {
                if let Some(state) = self.state_of(&attempt.call) {
                    *state = match then {
                        AfterLoss::Repeat => CallState::Queued,
                        AfterLoss::Ask | AfterLoss::Report => CallState::Lost,
                    };
                }
            }
            Fact::CallStarted {
                attempt,
                edited,
                may_repeat,
                repeat_until,
                time_limit,
                ..
            } => {
                if let Some(call) = self.call(&attempt.call) {
                    call.attempts = attempt.attempt;
                    call.repeat_until = *repeat_until;
                    call.edited.clone_from(edited);
                    call.state = CallState::Running(RunningCall {
                        answer: None,
                        attempt: attempt.clone(),
                        handle: None,
                        may_repeat: *may_repeat,
                        time_limit: *time_limit,
                    });
                }
            }
            Fact::WaitOpened { wait } if matches!(wait.kind, WaitKind::Budget { .. }) => {
                self.pause = Some(wait.clone());
            }
            Fact::WaitOpened { wait } => {
                if wait.kind == WaitKind::ClientResult {
                    self.client_ledger.add_call(&wait.call);
                }
                if let Some(call) = self.call(&wait.call) {
                    call.waits += 1;
                    call.state = CallState::Waiting(wait.clone());
                }
            }
            Fact::WaitClosed { end, subject, wait } => self.close_wait(wait, end, *subject),
            Fact::Late(_)
            | Fact::SessionForked { .. }
            | Fact::SessionImported { .. }
            | Fact::TurnOpened { .. } => {}
        }
        let waits_for_client = self.waits_for_client();
        self.client_ledger
            .update_delivered_round(fact, self.round, waits_for_client);
    }

    fn receive(&mut self, reply: &Arc<Reply>) {
        self.hops.end_round();
        let notes = &reply.end.notes;
        self.seen_notes.extend(
            notes
                .iter()
                .map(|note| (note.code.clone(), note.path.clone())),
        );
        let message = drop_blank_blocks(&reply.message);
        let message = dedup_calls(&message);
        let calls: Vec<BatchCall> = message
            .calls()
            .filter(|call| call.ran_by != RanBy::Provider)
            .map(|call| BatchCall {
                attempts: 0,
                call: Arc::clone(call),
                edited: None,
                repeat_until: None,
                state: CallState::Queued,
                waits: 0,
            })
            .collect();
        if calls.is_empty() {
            if !message.blocks.is_empty() {
                self.messages.push(message);
            }
            self.stage = Stage::Ready;
        } else {
            let finish = reply.end.finish.clone();
            self.stage = Stage::Tools(Batch {
                calls,
                finish,
                message,
            });
        }
    }

    fn close_call(&mut self, id: &ToolCallId, client_expired: bool, shown: ToolResult) {
        let round = self.round;
        let limit = self.setup.limits.repeats;
        let Stage::Tools(batch) = &mut self.stage else {
            return;
        };
        let Some(call) = batch.calls.iter_mut().find(|call| call.call.id == *id) else {
            return;
        };
        let tool = self.setup.catalog.tool(call.call.name.as_str());
        // Each permission that a provider asks for and gets is the same outcome, and says nothing of what its tool did.
        let is_permission = tool.is_some_and(|tool| tool.asked_by.is_some()) && !shown.is_error;
        let fingerprint = (!is_permission).then(|| call_fingerprint(&call.call, &shown));
        let outcome = ToolOutcome {
            call: id.clone(),
            opaque: Vec::new(),
            result: shown,
        };
        call.state = CallState::Closed(Arc::new(outcome));
        self.client_expired |= client_expired;
        if let Some(fingerprint) = fingerprint {
            let repeats = self.repeats.entry(fingerprint).or_default();
            if repeats.last_round != round {
                repeats.last_round = round;
                repeats.times += 1;
            }
            self.no_progress |= repeats.times >= limit.max(1);
        }
        self.close_round();
    }

    /// Once every call has an outcome, turns the reply and the outcomes into messages.
    fn close_round(&mut self) {
        let Stage::Tools(batch) = &self.stage else {
            return;
        };
        let Some(outcomes) = batch.outcomes() else {
            return;
        };
        self.client_ledger.close_round(self.round, &batch.calls);
        let reply = Arc::clone(&batch.message);
        self.messages.push(reply);
        self.messages.push(Arc::new(outcomes));
        if self.setup.catalog.offered().next().is_none() && self.tools().is_empty() {
            // A model made a call although it was sent no tools: from here on, the history needs a definition.
            self.tools = definitions(&self.setup, self.messages.iter()).into();
        }
        self.stage = Stage::Ready;
    }

    fn call(&mut self, id: &ToolCallId) -> Option<&mut BatchCall> {
        match &mut self.stage {
            Stage::Tools(batch) => batch.call(id),
            Stage::Calling(_) | Stage::Ended(_) | Stage::Ready | Stage::Retrying(_) => None,
        }
    }

    fn state_of(&mut self, id: &ToolCallId) -> Option<&mut CallState> {
        self.call(id).map(|call| &mut call.state)
    }
}
