//! Model calls that are no round of a turn: the summary that a person asks for, and a message that a tool's server
//! asks for. What they use is a spending record, and counts for budgets.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jackfield_domain::accumulator::ReplyAccumulator;
use jackfield_domain::caller::tags::Tag;
use jackfield_domain::delta::Delta;
use jackfield_domain::estimate;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_domain::ids::{ModelAttempt, TurnId};
use jackfield_domain::price::Price;
use jackfield_domain::reply::Reply;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::spending;
use jackfield_domain::spending_record::SpendingRecord;
use jackfield_domain::time::Now;
use jackfield_domain::tool::Catalog;
use jackfield_domain::usage::Usage;
use jackfield_ports::call_context::CallContext;
use jackfield_ports::credential::Credential;
use jackfield_ports::delta_sink::DeltaSink;
use tokio::sync::Notify;

use crate::budgets::BudgetedCall;
use crate::own_keys::takes_no_keys;
use crate::state::Engine;

/// A model call to be made, and what it is recorded under.
pub(crate) struct SideCall {
    pub(crate) budgets: Vec<Arc<str>>,
    pub(crate) context: CallContext,
    /// The endpoint of the spending record.
    pub(crate) endpoint: &'static str,
    /// The id of the spending record; no other call has it.
    pub(crate) id: Arc<str>,
    /// How long the model may be silent.
    pub(crate) idle: Duration,
    /// The turn whose ids the blocks of the reply get.
    pub(crate) owner: (TurnId, ModelAttempt),
    pub(crate) price: Option<Price>,
    pub(crate) principal: Arc<str>,
    pub(crate) request: ModelRequest,
    pub(crate) tags: Vec<Tag>,
}

impl SideCall {
    /// Reserves the budgets, makes the call and records what it used. Dropping the future aborts the call; the input is
    /// then recorded as an estimate.
    ///
    /// # Errors
    ///
    /// Why there is no reply.
    pub(crate) async fn make(mut self, engine: &Engine) -> Result<Reply, ModelFailure> {
        let provider = &self.request.model.provider;
        let credential = engine.own_credential(&self.principal, provider).await?;
        if credential.is_some() {
            self.budgets.clear();
        }
        let (request, price) = (&self.request, self.price.as_ref());
        if !self.budgets.is_empty() {
            let call = BudgetedCall::of(Arc::clone(&self.id), &self.budgets, request, price);
            engine.reserve_budgets(&call).await?;
        }
        let now = engine.shared.clock.now();
        let mut draft = RecordDraft {
            began: now,
            budgets: &self.budgets,
            engine,
            input: estimated_input(request),
            record: Some(SpendingRecord {
                at: now.wall,
                endpoint: self.endpoint.into(),
                first_token: None,
                id: Arc::clone(&self.id),
                model: request.model.clone(),
                price: price.cloned(),
                principal: Arc::clone(&self.principal),
                request_id: None,
                route: None,
                own_key: credential.is_some(),
                repeats_facts: false,
                settled: Vec::new(),
                status: None,
                tags: self.tags,
                took: Duration::ZERO,
                trace: None,
                usage: Usage::default(),
            }),
        };
        let (context, owner) = (&self.context, self.owner.clone());
        let replied = reply(engine, request, context, credential, self.idle, owner).await;
        let usage = match &replied {
            Ok(reply) => reply.end.usage,
            Err((usage, _)) => *usage,
        };
        draft.finish(usage);
        drop(draft);
        if usage.is_none() && !self.budgets.is_empty() {
            engine.release_budgets(&self.id, &self.budgets).await;
        }
        replied.map_err(|(_, failure)| failure)
    }
}

/// Calls the model. One that is silent for too long fails.
async fn reply(
    engine: &Engine,
    request: &ModelRequest,
    context: &CallContext,
    credential: Option<Credential>,
    idle: Duration,
    (turn, attempt): (TurnId, ModelAttempt),
) -> Result<Reply, (Option<Usage>, ModelFailure)> {
    let model = engine.model(&request.model.provider).map_err(|error| {
        let kind = ModelFailureKind::Unsupported;
        let failure = ModelFailure::new(kind, Phase::BeforeSend, error.to_string());
        (None, failure)
    })?;
    if credential.is_some() && !model.takes_credentials() {
        return Err((None, takes_no_keys(&request.model.provider)));
    }
    let mut sink = ReplySink {
        activity: Arc::default(),
        credential,
        reply: ReplyAccumulator::new(turn, attempt),
        usage: None,
    };
    let activity = Arc::clone(&sink.activity);
    let replied = {
        let mut replying = pin!(model.reply(request, context, &mut sink));
        let mut too_long = pin!(tokio::time::sleep(LONGEST));
        loop {
            tokio::select! {
                biased;
                replied = &mut replying => break replied.map_err(|error| error.failure),
                () = activity.notified() => {}
                () = tokio::time::sleep(idle) => {
                    break Err(timed_out(format!("the model said nothing for {} s", idle.as_secs())));
                }
                () = &mut too_long => {
                    break Err(timed_out(format!("the reply took more than {} s", LONGEST.as_secs())));
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

fn timed_out(message: String) -> ModelFailure {
    ModelFailure::new(ModelFailureKind::Timeout, Phase::MidReply, message)
}

/// How long a message may take, however often its server says that it is alive.
const LONGEST: Duration = Duration::from_secs(30 * 60);

/// The spending record of a call in flight. If it is dropped before the call has ended, because its caller has gone, it
/// is stored with an estimate.
struct RecordDraft<'a> {
    began: Now,
    budgets: &'a [Arc<str>],
    engine: &'a Engine,
    input: u64,
    record: Option<SpendingRecord>,
}

impl RecordDraft<'_> {
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

impl Drop for RecordDraft<'_> {
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

/// Collects the pieces of a reply.
struct ReplySink {
    activity: Arc<Notify>,
    credential: Option<Credential>,
    reply: ReplyAccumulator,
    usage: Option<Usage>,
}

#[async_trait]
impl DeltaSink for ReplySink {
    async fn push(&mut self, delta: Delta) {
        self.activity.notify_one();
        // A piece that does not fit is left out; the end of the reply then says what is wrong, or misses nothing.
        let _fits = self.reply.push(&delta);
    }

    fn credential(&self) -> Option<&Credential> {
        self.credential.as_ref()
    }

    async fn alive(&mut self) {
        self.activity.notify_one();
    }

    async fn count(&mut self, usage: Usage) {
        self.activity.notify_one();
        self.usage = (usage.input > 0).then_some(usage);
    }
}
