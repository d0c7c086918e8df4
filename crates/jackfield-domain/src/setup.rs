//! The setup of a turn: all decisions that were made before it began.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crate::approval::Grants;
use crate::caller::Caller;
use crate::caller::tags::Tag;
use crate::compaction::CompactionPolicy;
use crate::ids::{ModelAttempt, SessionId};
use crate::limits::{Allowance, Limits};
use crate::message::Message;
use crate::note::NoteEffect;
use crate::outcome::ToolOutcome;
use crate::price::{self, Cost, Price};
use crate::request::ModelRef;
use crate::rules::{self, RuleViolation};
use crate::settings::Settings;
use crate::system_prompt::SystemPrompt;
use crate::target::{AttemptTargets, BreakerSnapshot, Target};
use crate::tool::{Catalog, ToolChoice};
use crate::trace::TraceContext;
use crate::usage::Usage;

/// The configuration of a turn as of its begin. Later configuration changes do not alter it.
#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    /// The target that answered an earlier request of the conversation, if the route stays at it.
    pub affinity: Option<u32>,
    /// The budget.
    pub allowance: Allowance,
    /// The name of the assistant that the client asked for, if it asked for one.
    pub assistant: Option<Arc<str>>,
    /// The names of the meters whose budgets its model calls count for; empty without budgets.
    pub budgets: Vec<Arc<str>>,
    /// The client of the turn, if it keeps the conversation itself or may reconnect for the answer.
    pub caller: Option<Arc<Caller>>,
    /// Whether the client can replace text that it has already shown.
    pub can_supersede: bool,
    /// The catalog.
    pub catalog: Arc<Catalog>,
    /// Which tools may be called at all, and which must be called in the first round.
    pub choice: ToolChoice,
    /// When the conversation is compacted; `None` is never.
    pub compaction: Option<CompactionPolicy>,
    /// The targets after the first one, in the order in which the turn falls back to them.
    pub fallbacks: Vec<Target>,
    /// The time limit to the first piece of a reply of the first target, if it has one.
    pub first_byte: Option<Duration>,
    /// What its request said in place of what is configured, in the words of its client, which may say it again. The loop
    /// does not read it.
    pub given: Option<Arc<str>>,
    /// Limits.
    pub limits: Limits,
    /// The model of the first target.
    pub model: ModelRef,
    /// The providers at which the principal's own keys are used, as there were when the turn began.
    pub own_keys: Vec<Arc<str>>,
    /// Whether it waits for room in a budget that is used up after its first round, instead of ending.
    pub pauses: bool,
    /// The price of that model when the turn began; `None` if unknown.
    pub price: Option<Price>,
    /// The name of the route that the targets came from, if they came from one.
    pub route: Option<Arc<str>>,
    /// Settings of the model calls.
    pub settings: Arc<Settings>,
    /// The least effect of a [`Note`](crate::note::Note) at which requests of the turn are refused; `None`
    /// records the notes and sends them.
    pub strict: Option<NoteEffect>,
    /// The system prompt.
    pub system: Arc<SystemPrompt>,
    /// The tags of its request, in the order of their names. The loop does not read them.
    pub tags: Vec<Tag>,
    /// Whether rounds after the first may use tools.
    pub tools_after_first_round: bool,
    /// The trace context of the client's request, if it had one.
    pub trace: Option<Arc<TraceContext>>,
    /// The time limit of whole replies; `None` streams replies.
    pub whole: Option<Duration>,
    /// The context window of the first target's model, in tokens, if it is needed and known.
    pub window: Option<u64>,
}

impl Setup {
    /// A turn with one model and these tools: default limits and settings, no prompt, no budget, no fallbacks.
    #[must_use]
    pub fn new(model: ModelRef, catalog: Catalog) -> Self {
        Self {
            affinity: None,
            allowance: Allowance::default(),
            assistant: None,
            budgets: Vec::new(),
            caller: None,
            can_supersede: false,
            catalog: Arc::new(catalog),
            choice: ToolChoice::Auto,
            compaction: None,
            fallbacks: Vec::new(),
            first_byte: None,
            given: None,
            limits: Limits::default(),
            model,
            own_keys: Vec::new(),
            pauses: false,
            price: None,
            route: None,
            settings: Arc::default(),
            strict: None,
            system: Arc::default(),
            tags: Vec::new(),
            tools_after_first_round: true,
            trace: None,
            whole: None,
            window: None,
        }
    }

    /// The model of a target; the first target has index 0. `None` if there is no such target.
    #[must_use]
    pub fn model_of(&self, target: u32) -> Option<&ModelRef> {
        match target {
            0 => Some(&self.model),
            later => self.fallback(later).map(|target| &target.model),
        }
    }

    /// Whether calls of this model are made with the principal's own key.
    #[must_use]
    pub fn has_own_key(&self, model: &ModelRef) -> bool {
        self.own_keys.contains(&model.provider)
    }

    /// The principal whose own key calls of this model are made with, if they are.
    #[must_use]
    pub fn key_owner(&self, model: &ModelRef) -> Option<&Arc<str>> {
        let caller = self.caller.as_ref().filter(|_| self.has_own_key(model))?;
        Some(&caller.principal)
    }

    /// The price of a target's model; `None` if it is unknown, or if there is no such target.
    #[must_use]
    pub fn price_of(&self, target: u32) -> Option<&Price> {
        match target {
            0 => self.price.as_ref(),
            later => self.fallback(later)?.price.as_ref(),
        }
    }

    /// The context window of a target's model, in tokens; `None` if it is not known.
    #[must_use]
    pub fn window_of(&self, target: u32) -> Option<u64> {
        match target {
            0 => self.window,
            later => self.fallback(later)?.window,
        }
    }

    /// The time limit to the first piece of a target's reply; `None` if it has none.
    #[must_use]
    pub fn first_byte_of(&self, target: u32) -> Option<Duration> {
        match target {
            0 => self.first_byte,
            later => self.fallback(later)?.first_byte,
        }
    }

    /// Whether a target is called only after a content filter refused the request elsewhere.
    #[must_use]
    pub fn is_for_content_filter(&self, target: u32) -> bool {
        self.fallback(target)
            .is_some_and(|target| target.content_filter)
    }

    /// The number of targets; at least 1.
    #[must_use]
    pub fn targets(&self) -> u32 {
        u32::try_from(self.fallbacks.len()).map_or(u32::MAX, |more| more.saturating_add(1))
    }

    /// The cost of model calls, each by the price of its target; `None` if a price is unknown, or if the prices
    /// are in several currencies.
    ///
    /// What a provider itself says that a call cost stands for its earlier calls without a cost, too: a provider
    /// that stays between rounds says so with the last one.
    #[must_use]
    pub fn bill(
        &self,
        targets: &AttemptTargets,
        usage_by_attempt: &BTreeMap<ModelAttempt, Usage>,
    ) -> Option<Cost> {
        self.sum(targets, usage_by_attempt, false, price::cost_of)
    }

    /// What model calls count for the turn's budget of money: their cost, or the most that it can be in any service tier.
    /// With [`Allowance::unpriced`], those without a price count nothing.
    #[must_use]
    pub fn counted(
        &self,
        targets: &AttemptTargets,
        usage_by_attempt: &BTreeMap<ModelAttempt, Usage>,
    ) -> Option<Cost> {
        let leaves_out = self.allowance.unpriced;
        self.sum(targets, usage_by_attempt, leaves_out, price::counted_of)
    }

    /// The sum of what model calls cost, each by `cost_of`, which may leave out those without a price.
    fn sum(
        &self,
        targets: &AttemptTargets,
        usage_by_attempt: &BTreeMap<ModelAttempt, Usage>,
        leaves_out: bool,
        cost_of: fn(&Usage, Option<&Price>) -> Option<Cost>,
    ) -> Option<Cost> {
        let mut cost: Option<Cost> = None;
        let mut covered: BTreeSet<u32> = BTreeSet::new();
        for (attempt, usage) in usage_by_attempt.iter().rev() {
            let target = targets.get(*attempt);
            let price = self.price_of(target);
            let usage = if covered.contains(&target) {
                price::covered(usage, price)
            } else {
                *usage
            };
            if price::covers_earlier(&usage) {
                covered.insert(target);
            }
            let bill = match cost_of(&usage, price) {
                Some(bill) => bill,
                None if leaves_out => continue,
                None => return None,
            };
            match &mut cost {
                None => cost = Some(bill),
                Some(cost) if cost.currency == bill.currency => cost.add(&bill),
                Some(_) => return None,
            }
        }
        match cost {
            Some(cost) => Some(cost),
            None => self.price.as_ref()?.bill(&Usage::default()),
        }
    }

    fn fallback(&self, target: u32) -> Option<&Target> {
        let place = usize::try_from(target.checked_sub(1)?).ok()?;
        self.fallbacks.get(place)
    }

    /// How long a model may be silent. A reply in one piece arrives only when it is complete, so its whole time
    /// limit applies.
    #[must_use]
    pub fn model_idle(&self) -> Duration {
        self.whole.unwrap_or(self.limits.model_idle)
    }

    /// Replaces large parts that are equal in `other` by shared references to them.
    pub fn share(&mut self, other: &Self) {
        share(&mut self.catalog, &other.catalog);
        share(&mut self.settings, &other.settings);
        share(&mut self.system, &other.system);
    }
}

fn share<T: PartialEq>(own: &mut Arc<T>, other: &Arc<T>) {
    if own == other {
        *own = Arc::clone(other);
    }
}

/// The basis of a turn.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnBase {
    /// The breakers of the turn's targets that are not closed.
    pub breakers: Vec<BreakerSnapshot>,
    /// What the provider counted for messages before the turn, if it did.
    pub counted: Option<InputCount>,
    /// The grants of the session; they become part of the setup.
    pub grants: Grants,
    /// The messages before it.
    pub messages: Arc<Vec<Arc<Message>>>,
    /// The turn's place in the session, from 1.
    pub ordinal: u32,
    /// The session.
    pub session: SessionId,
}

/// How many tokens the first messages of a conversation have, as a provider counted them.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct InputCount {
    /// The number of messages.
    pub messages: usize,
    /// Their tokens, with those of the system prompt and the tools.
    pub tokens: u64,
}

/// The opening of a turn.
#[derive(Clone, Debug, PartialEq)]
pub enum Opening {
    /// The results of client tool calls that an earlier turn had already closed.
    ClientResults(Vec<Arc<ToolOutcome>>),
    /// A whole conversation, from a client that keeps it itself.
    Transcript(Transcript),
    /// A message of the user.
    UserMessage(Arc<Message>),
}

/// A conversation that follows the rules and can be sent to a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Transcript(Vec<Arc<Message>>);

impl Transcript {
    /// Validates a conversation that came from outside.
    ///
    /// # Errors
    ///
    /// The first rule that it violates.
    pub fn parse(messages: Vec<Message>) -> Result<Self, RuleViolation> {
        let messages: Vec<Arc<Message>> = messages.into_iter().map(Arc::new).collect();
        rules::check_request(messages.iter())?;
        Ok(Self(messages))
    }

    /// Wraps a stored conversation, which was validated before.
    #[must_use]
    pub const fn stored(messages: Vec<Arc<Message>>) -> Self {
        Self(messages)
    }

    /// The messages.
    #[must_use]
    pub fn messages(&self) -> &[Arc<Message>] {
        &self.0
    }
}
