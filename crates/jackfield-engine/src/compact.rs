//! Compacts a session at a person's request: a fork of it begins with a summary. Turns compact by themselves, as
//! the loop decides.

use std::pin::pin;
use std::sync::Arc;

use async_trait::async_trait;
use jackfield_domain::accumulator::ReplyAccumulator;
use jackfield_domain::compaction::{CompactionPlan, CompactionRoom, summary_of};
use jackfield_domain::delta::Delta;
use jackfield_domain::estimate;
use jackfield_domain::fact::{Compaction, Fact};
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_domain::fork;
use jackfield_domain::ids::{ModelAttempt, SessionId, TurnId};
use jackfield_domain::message::Messages;
use jackfield_domain::price::{self, Cost};
use jackfield_domain::reply::Reply;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::session::Session;
use jackfield_domain::spending;
use jackfield_domain::spending_record::SpendingRecord;
use jackfield_domain::time::Now;
use jackfield_domain::tool::Catalog;
use jackfield_domain::usage::Usage;
use jackfield_ports::delta_sink::DeltaSink;
use tokio::sync::Notify;

use crate::budgets::BudgetedCall;
use crate::error::EngineError;
use crate::options::TurnOptions;
use crate::state::Engine;

/// A session to be compacted into a fork.
#[derive(Clone, Debug)]
pub struct CompactSession {
    /// The session; it is not changed.
    pub from: SessionId,
    /// The model that writes the summary, its settings, limits and price.
    pub options: TurnOptions,
    /// The principal that the usage is recorded under.
    pub principal: Arc<str>,
    /// The fork; it must be new.
    pub to: SessionId,
}

/// A fork that begins with a summary.
#[derive(Clone, Debug, PartialEq)]
pub struct CompactedSession {
    /// What was replaced, and by which messages.
    pub compaction: Arc<Compaction>,
    /// The cost, if the price of the model is known.
    pub cost: Option<Cost>,
}

impl Engine {
    /// Begins a fork of a session in which a summary replaces the beginning of the conversation. The session itself
    /// is not changed. The usage of the summary is stored as a spending record.
    ///
    /// Dropping the future aborts the model call; the input is then recorded as an estimate.
    ///
    /// # Errors
    ///
    /// [`EngineError::NothingToCompact`] if the conversation is too short, [`EngineError::NotCompacted`] if the model
    /// wrote no summary, and those of [`Engine::fork`].
    pub async fn compact(&self, request: CompactSession) -> Result<CompactedSession, EngineError> {
        let CompactSession {
            from,
            options,
            principal,
            to,
        } = request;
        let loaded = self.load(&from).await?;
        let facts = || loaded.steps.iter().flat_map(|step| &step.facts);
        let folded = Session::fold(from.clone(), facts());
        if let Some(turn) = folded.open_turn() {
            let turn = turn.id().clone();
            return Err(EngineError::Busy {
                session: from,
                turn,
            });
        }
        let nothing = || EngineError::NothingToCompact {
            session: from.clone(),
        };
        let last = fork::places(from.clone(), facts()).pop();
        // A fork without turns has only the history of the session that it was forked from.
        let forked = folded.forked().map(|(from, at)| (from.clone(), at.clone()));
        let place = last.map(|at| (from.clone(), at)).or(forked);
        let (origin, at) = place.ok_or_else(nothing)?;
        let history = folded.messages();
        let messages = Messages::with_history(Arc::clone(&history));
        let plan = CompactionPlan::new(&messages, false).ok_or_else(nothing)?;
        let sizes = history.iter().map(|message| estimate::message(message));
        let size = sizes.fold(0, u64::saturating_add);
        let window = options.windows.get(&options.model);
        let room = window.map_or(size, |window| window.saturating_mul(4) / 5);
        let request = plan.request(
            &options.model,
            &options.settings,
            CompactionRoom { room, size },
            options.whole_reply_limit.is_some(),
        );
        let attempt = ModelAttempt::compaction(0);
        let turn = TurnId::derive(&to, 0);
        let now = self.shared.clock.now();
        // A fork that is deleted and begun again has the same name, and not the same time.
        let id: Arc<str> = format!("compact-{to}-{}", now.wall.as_millis()).into();
        let price = options.prices.get(&options.model).cloned();
        if !options.budgets.is_empty() {
            let budgets = &options.budgets;
            let call = BudgetedCall::of(Arc::clone(&id), budgets, &request, price.as_ref());
            let reserved = self.reserve_budgets(&call).await;
            reserved.map_err(|failure| EngineError::NotCompacted { failure })?;
        }
        let mut draft = SummaryDraft {
            began: now,
            budgets: &options.budgets,
            engine: self,
            input: estimated_input(&request),
            record: Some(SpendingRecord {
                at: now.wall,
                endpoint: ENDPOINT.into(),
                first_token: None,
                id: Arc::clone(&id),
                model: options.model.clone(),
                price: price.clone(),
                principal,
                request_id: None,
                route: None,
                repeats_facts: false,
                settled: Vec::new(),
                status: None,
                took: std::time::Duration::ZERO,
                trace: None,
                usage: Usage::default(),
            }),
        };
        let written = self.summarize(&request, &options, (turn, attempt)).await;
        let usage = match &written {
            Ok(reply) => reply.end.usage,
            Err((usage, _)) => *usage,
        };
        draft.finish(usage);
        drop(draft);
        if usage.is_none() && !options.budgets.is_empty() {
            self.release_budgets(&id, &options.budgets).await;
        }
        let reply = written.map_err(|(_, failure)| EngineError::NotCompacted { failure })?;
        let summary = summary_of(&reply).ok_or_else(|| {
            let message = "the summary is empty, refused or not complete";
            let failure =
                ModelFailure::new(ModelFailureKind::UnusableReply, Phase::MidReply, message);
            EngineError::NotCompacted { failure }
        })?;
        let compaction = Arc::new(Compaction {
            attempt,
            failure: None,
            messages: plan.replacement(&summary),
            model: Some(options.model),
            replaced: plan.replaced,
            usage,
        });
        let forked = Fact::SessionForked {
            at,
            from: origin,
            messages: history,
        };
        let facts = vec![forked, Fact::Compacted(Arc::clone(&compaction))];
        self.begin_fork(&from, &to, facts).await?;
        let cost = usage.and_then(|usage| price::cost_of(&usage, price.as_ref()));
        Ok(CompactedSession { compaction, cost })
    }

    /// Makes the model call for a summary. A model that is silent for too long fails.
    async fn summarize(
        &self,
        request: &ModelRequest,
        options: &TurnOptions,
        (turn, attempt): (TurnId, ModelAttempt),
    ) -> Result<Reply, (Option<Usage>, ModelFailure)> {
        let idle = options
            .whole_reply_limit
            .unwrap_or(options.limits.model_idle);
        let model = self.model(&request.model.provider).map_err(|error| {
            let kind = ModelFailureKind::Unsupported;
            let failure = ModelFailure::new(kind, Phase::BeforeSend, error.to_string());
            (None, failure)
        })?;
        let mut sink = SummarySink {
            activity: Arc::default(),
            reply: ReplyAccumulator::new(turn, attempt),
            usage: None,
        };
        let activity = Arc::clone(&sink.activity);
        let replied = {
            let mut replying = pin!(model.reply(request, &mut sink));
            loop {
                tokio::select! {
                    biased;
                    replied = &mut replying => break replied.map_err(|error| error.failure),
                    () = activity.notified() => {}
                    () = tokio::time::sleep(idle) => {
                        let message = format!("the model said nothing for {} s", idle.as_secs());
                        let (kind, phase) = (ModelFailureKind::Timeout, Phase::MidReply);
                        break Err(ModelFailure::new(kind, phase, message));
                    }
                }
            }
        };
        let units = sink.reply.units();
        let estimated = || Usage::estimate(estimated_input(request), estimate::tokens(units));
        match replied {
            Ok(mut end) => {
                let counted = end.usage.filter(|usage| usage.total() > 0);
                end.usage = Some(counted.or(sink.usage).unwrap_or_else(estimated));
                let usage = end.usage;
                sink.reply
                    .finish(end, &Catalog::default())
                    .map_err(|violation| {
                        let message = format!("the reply cannot be read: {violation}");
                        let kind = ModelFailureKind::ProtocolViolation;
                        (usage, ModelFailure::new(kind, Phase::MidReply, message))
                    })
            }
            Err(failure) => {
                let may_have_used = units > 0 || failure.may_have_used();
                let used = sink.usage.or_else(|| may_have_used.then(estimated));
                Err((used, failure))
            }
        }
    }
}

/// The spending record of a summary in the making. If it is dropped before the call has ended, because the client has gone,
/// it is stored with an estimate.
struct SummaryDraft<'a> {
    began: Now,
    budgets: &'a [Arc<str>],
    engine: &'a Engine,
    input: u64,
    record: Option<SpendingRecord>,
}

impl SummaryDraft<'_> {
    /// The call has ended with this usage; `None` is nothing, and stores nothing.
    fn finish(&mut self, usage: Option<Usage>) {
        if let Some(mut record) = self.record.take()
            && let Some(usage) = usage
        {
            let price = record.price.as_ref();
            record.settled = spending::settled(self.budgets, price, &usage);
            record.took = self.engine.shared.clock.now().mono.since(self.began.mono);
            record.usage = usage;
            self.engine.record_spending(record);
        }
    }
}

impl Drop for SummaryDraft<'_> {
    fn drop(&mut self) {
        self.finish(Some(Usage::estimate(self.input, 0)));
    }
}

/// An estimate of the tokens of a request's messages.
fn estimated_input(request: &ModelRequest) -> u64 {
    let sizes = request.messages.iter();
    let sizes = sizes.map(|message| estimate::message(message));
    sizes.fold(0, u64::saturating_add)
}

/// Collects the pieces of a summary.
struct SummarySink {
    activity: Arc<Notify>,
    reply: ReplyAccumulator,
    usage: Option<Usage>,
}

#[async_trait]
impl DeltaSink for SummarySink {
    async fn push(&mut self, delta: Delta) {
        self.activity.notify_one();
        // A piece that does not fit is left out; the end of the reply then says what is wrong, or misses nothing.
        let _fits = self.reply.push(&delta);
    }

    async fn count(&mut self, usage: Usage) {
        self.activity.notify_one();
        self.usage = (usage.input > 0).then_some(usage);
    }
}

/// The endpoint of the spending record of a summary.
const ENDPOINT: &str = "compact";
