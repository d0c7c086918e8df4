//! The usage of turns by reply and tool call, computed from the facts, for cost reports.

pub mod report;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::block::ToolCall;
use crate::caller::tags::Tag;
use crate::estimate;
use crate::fact::{CallEnd, Envelope, Fact, ModelCallEnd};
use crate::failure::ModelFailureKind;
use crate::ids::{ModelAttempt, ToolCallId, TurnId};
use crate::price::{self, Price};
use crate::request::ModelRef;
use crate::setup::Setup;
use crate::spending_record::SpendingRecord;
use crate::target::{AttemptTargets, Reservation};
use crate::time::WallTime;
use crate::tool::ToolOrigin;
use crate::usage::Usage;

/// The usage of a turn.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnSpending {
    /// When it began.
    pub at: WallTime,
    /// Its model calls that have ended, in order, whether they used anything or not.
    pub attempts: Vec<AttemptSpending>,
    /// Its finished tool calls, in the order in which they ended.
    pub calls: Vec<CallSpending>,
    /// The model that was called first.
    pub model: ModelRef,
    /// Its place in the session, from 1.
    pub ordinal: u32,
    /// The principal that it was for; `None` for turns of the command line.
    pub principal: Option<Arc<str>>,
    /// Its model calls with any usage, in order.
    pub replies: Vec<ReplySpending>,
    /// Its tags.
    pub tags: Vec<Tag>,
    /// Its id.
    pub turn: TurnId,
}

/// A model call that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct AttemptSpending {
    /// When it ended.
    pub at: WallTime,
    /// The attempt.
    pub attempt: ModelAttempt,
    /// How it failed, if it did. One that was cancelled, or lost with its process, did not.
    pub failure: Option<ModelFailureKind>,
    /// The time to the first piece of the reply, if it is known.
    pub first_token: Option<Duration>,
    /// The model that was called.
    pub model: ModelRef,
    /// When it was sent to its provider, if that is recorded.
    pub started: Option<WallTime>,
}

/// The usage of a model call.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplySpending {
    /// When it was first reported.
    pub at: WallTime,
    /// The attempt.
    pub attempt: ModelAttempt,
    /// The model that was called.
    pub model: ModelRef,
    /// Whether it was made with the principal's own key.
    pub own_key: bool,
    /// The price of that model when the turn began, if known.
    pub price: Option<Price>,
    /// The usage. A late count replaces its estimate.
    pub usage: Usage,
}

/// The effort of a tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct CallSpending {
    /// When it ended.
    pub at: WallTime,
    /// The number of starts; 0 if it was not run.
    pub attempts: u32,
    /// The stored size of its outcome, in bytes.
    pub bytes: usize,
    /// How it ended.
    pub end: CallEnd,
    /// Whether its outcome is an error.
    pub is_error: bool,
    /// The name that the model used.
    pub name: Arc<str>,
    /// The tool's origin, if the tool existed.
    pub origin: Option<ToolOrigin>,
    /// An estimate of the tokens of its outcome, as models see it.
    pub tokens: u64,
    /// The time from its last start to its end, by the wall clock; zero if it was not run.
    pub took: Duration,
}

impl TurnSpending {
    /// The total usage of its model calls.
    #[must_use]
    pub fn usage(&self) -> Usage {
        let mut all = Usage::default();
        self.replies.iter().for_each(|reply| all += reply.usage);
        all
    }
}

/// The usage of a session's turns, in order.
#[must_use]
pub fn by_turn(steps: &[Envelope]) -> Vec<TurnSpending> {
    let mut state = SpendingFold::default();
    for step in steps {
        for fact in &step.facts {
            state.fold(fact, step.now.wall);
        }
    }
    for turn in &mut state.turns {
        let mut covered: Vec<ModelRef> = Vec::new();
        for reply in turn.replies.iter_mut().rev() {
            if covered.contains(&reply.model) {
                reply.usage = price::covered(&reply.usage, reply.price.as_ref());
            } else if price::covers_earlier(&reply.usage) {
                covered.push(reply.model.clone());
            }
        }
    }
    state.turns
}

/// What a turn used, as records that remain when its session is deleted: one for each model call that used tokens,
/// in order.
///
/// `steps` are those of its session. A call's time goes from the fact that it started to the one that has its usage.
#[must_use]
pub fn records_of_turn(turn: &TurnId, steps: &[Envelope]) -> Vec<SpendingRecord> {
    let facts = steps.iter().flat_map(|step| &step.facts);
    let setup = facts.into_iter().find_map(|fact| {
        if let Fact::TurnOpened {
            setup, turn: id, ..
        } = fact
            && id == turn
        {
            Some(setup)
        } else {
            None
        }
    });
    let spent = by_turn(steps).into_iter().find(|spent| spent.turn == *turn);
    let (Some(setup), Some(spent)) = (setup, spent) else {
        return Vec::new();
    };
    let (attempts, at) = (spent.attempts, spent.at);
    let records = spent.replies.into_iter().map(|reply| {
        let ended = attempts.iter().find(|ended| ended.attempt == reply.attempt);
        let started = ended.and_then(|ended| ended.started);
        let call = EndedCall {
            at: started.unwrap_or(reply.at),
            attempt: reply.attempt,
            ended: reply.at,
            first_token: ended.and_then(|ended| ended.first_token),
            model: reply.model,
            price: reply.price,
            usage: reply.usage,
        };
        record_of_call(&OpenedTurn { at, id: turn }, setup, call)
    });
    records.collect()
}

/// A model call of a turn that has ended, with what it used.
#[derive(Clone, Debug, PartialEq)]
pub struct EndedCall {
    /// When it began.
    pub at: WallTime,
    /// The attempt.
    pub attempt: ModelAttempt,
    /// When it ended.
    pub ended: WallTime,
    /// The time to the first piece of the reply, if it is known.
    pub first_token: Option<Duration>,
    /// The model that was called.
    pub model: ModelRef,
    /// The price of that model when the turn began, if known.
    pub price: Option<Price>,
    /// The usage.
    pub usage: Usage,
}

/// The id of a model call of a turn, which is that of its spending record. The id of a turn follows from its session and
/// its place there, so a session that is deleted and begun again has the same ones: the time tells them apart.
#[must_use]
pub fn call_id(turn: &OpenedTurn<'_>, attempt: ModelAttempt) -> Arc<str> {
    let OpenedTurn { at, id } = turn;
    let ModelAttempt { round, attempt } = attempt;
    format!("{id}.{}.{round}.{attempt}", at.as_millis()).into()
}

/// A turn, and when it was opened.
#[derive(Clone, Copy, Debug)]
pub struct OpenedTurn<'a> {
    /// The time of the step that opened it.
    pub at: WallTime,
    /// Its id.
    pub id: &'a TurnId,
}

/// The spending record of a model call of a turn with this setup; it settles the budgets of the turn, unless it was made
/// with the principal's own key.
#[must_use]
pub fn record_of_call(turn: &OpenedTurn<'_>, setup: &Setup, call: EndedCall) -> SpendingRecord {
    let caller = setup.caller.as_deref();
    let own_key = setup.has_own_key(&call.model);
    let budgets = if own_key { &[][..] } else { &*setup.budgets };
    SpendingRecord {
        at: call.at,
        endpoint: caller.map_or_else(|| "turn".into(), |caller| Arc::clone(&caller.dialect)),
        first_token: call.first_token,
        id: call_id(turn, call.attempt),
        model: call.model,
        principal: caller.map_or_else(|| "".into(), |caller| Arc::clone(&caller.principal)),
        own_key,
        repeats_facts: false,
        request_id: None,
        route: setup.route.clone(),
        settled: settled(budgets, call.price.as_ref(), &call.usage),
        price: call.price,
        status: None,
        tags: setup.tags.clone(),
        took: call.ended.since(call.at),
        trace: setup.trace.clone(),
        usage: call.usage,
    }
}

/// What a usage at a price is of each of these budgets. A price in another currency than US dollars is not known there.
/// A reply of a tier whose rates are not known counts by the highest ones of its model.
#[must_use]
pub fn settled(budgets: &[Arc<str>], price: Option<&Price>, usage: &Usage) -> Vec<Reservation> {
    let cost = price::counted_of(usage, price);
    let cost = cost.filter(|cost| &*cost.currency == BUDGET_CURRENCY);
    let settled = budgets.iter().map(|budget| Reservation {
        budget: Arc::clone(budget),
        cost: cost.as_ref().map(|cost| cost.amount),
        tokens: Some(usage.total()),
    });
    settled.collect()
}

/// The currency of all budgets across turns.
pub const BUDGET_CURRENCY: &str = "USD";

/// The state of the fold.
#[derive(Default)]
struct SpendingFold {
    /// The calls of the current turn, with their last start and number of starts.
    calls: BTreeMap<ToolCallId, (Arc<ToolCall>, Option<WallTime>, u32)>,
    setup: Option<Arc<Setup>>,
    /// When the model calls of the current turn that have not ended began.
    started: BTreeMap<ModelAttempt, WallTime>,
    targets: AttemptTargets,
    turns: Vec<TurnSpending>,
}

impl SpendingFold {
    fn fold(&mut self, fact: &Fact, at: WallTime) {
        if let Fact::Compacted(compaction) = fact {
            self.targets.add_compaction(compaction.attempt);
        }
        if let Some((attempt, usage)) = fact.usage() {
            self.record_usage(attempt, usage, at);
        }
        match fact {
            Fact::TurnOpened {
                ordinal,
                setup,
                turn,
                ..
            } => {
                self.calls.clear();
                self.started.clear();
                self.targets = AttemptTargets::default();
                self.setup = Some(Arc::clone(setup));
                self.turns.push(TurnSpending {
                    at,
                    attempts: Vec::new(),
                    calls: Vec::new(),
                    model: setup.model.clone(),
                    ordinal: *ordinal,
                    principal: setup
                        .caller
                        .as_ref()
                        .map(|caller| Arc::clone(&caller.principal)),
                    replies: Vec::new(),
                    tags: setup.tags.clone(),
                    turn: turn.clone(),
                });
            }
            Fact::ModelCallStarted {
                attempt, target, ..
            } => {
                self.started.insert(*attempt, at);
                self.targets.add(*attempt, *target);
            }
            Fact::ModelCallEnded {
                attempt,
                first_token,
                why,
                ..
            } => {
                let failure = if let ModelCallEnd::Failed(failure) = why {
                    Some(failure.kind)
                } else {
                    None
                };
                self.record_attempt(*attempt, failure, *first_token, at);
            }
            Fact::ReplyReceived {
                attempt,
                first_token,
                reply,
                ..
            } => {
                self.record_attempt(*attempt, None, *first_token, at);
                for call in reply.message.calls() {
                    self.calls
                        .insert(call.id.clone(), (Arc::clone(call), None, 0));
                }
            }
            Fact::CallStarted { attempt, .. } => {
                if let Some((_, started, attempts)) = self.calls.get_mut(&attempt.call) {
                    *started = Some(at);
                    *attempts = attempt.attempt;
                }
            }
            Fact::CallClosed {
                call,
                end,
                result,
                shown,
                ..
            } => {
                let Some((call, started, attempts)) = self.calls.remove(call) else {
                    return;
                };
                let seen = result.for_models(*shown);
                let catalog = self.setup.as_ref().map(|setup| &setup.catalog);
                let tool = catalog.and_then(|catalog| catalog.tool(call.name.as_str()));
                let spent = CallSpending {
                    at,
                    attempts,
                    bytes: result.size(),
                    end: *end,
                    is_error: result.is_error,
                    name: call.name.as_str().into(),
                    origin: tool.map(|tool| tool.origin.clone()),
                    tokens: estimate::result(seen.as_ref().unwrap_or(result)),
                    took: started.map_or(Duration::ZERO, |started| at.since(started)),
                };
                if let Some(turn) = self.turns.last_mut() {
                    turn.calls.push(spent);
                }
            }
            Fact::BackendSession { .. }
            | Fact::Compacted(_)
            | Fact::CallAccepted { .. }
            | Fact::CallLost { .. }
            | Fact::Late(_)
            | Fact::SessionForked { .. }
            | Fact::SessionImported { .. }
            | Fact::TurnEnded { .. }
            | Fact::TurnResumed { .. }
            | Fact::WaitClosed { .. }
            | Fact::WaitOpened { .. } => {}
        }
    }

    fn record_attempt(
        &mut self,
        attempt: ModelAttempt,
        failure: Option<ModelFailureKind>,
        first_token: Option<Duration>,
        at: WallTime,
    ) {
        let started = self.started.remove(&attempt);
        if let (Some(turn), Some(setup)) = (self.turns.last_mut(), &self.setup) {
            let target = self.targets.get(attempt);
            turn.attempts.push(AttemptSpending {
                at,
                attempt,
                failure,
                first_token,
                model: setup.model_of(target).unwrap_or(&setup.model).clone(),
                started,
            });
        }
    }

    fn record_usage(&mut self, attempt: ModelAttempt, usage: Usage, at: WallTime) {
        let (Some(turn), Some(setup)) = (self.turns.last_mut(), &self.setup) else {
            return;
        };
        let known = turn.replies.iter_mut().find(|one| one.attempt == attempt);
        match known {
            Some(known) => known.usage = known.usage.merge(usage),
            None => {
                let target = self.targets.get(attempt);
                let model = setup.model_of(target).unwrap_or(&setup.model);
                turn.replies.push(ReplySpending {
                    at,
                    attempt,
                    model: model.clone(),
                    own_key: setup.has_own_key(model),
                    price: setup.price_of(target).cloned(),
                    usage,
                });
            }
        }
    }
}
