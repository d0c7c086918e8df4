//! Budgets across turns: each model call reserves what it may use before it is made, and settles what it used in a
//! spending record, which changes the meters in the same transaction.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::directory::{EntryKind, EntryName};
use jackfield_domain::estimate;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase, RetryAdvice};
use jackfield_domain::price::{Price, ServiceTier};
use jackfield_domain::quota::{
    Amount, BudgetPeriod, BudgetState, MeterOperation, MeterOutcome, Quota,
};
use jackfield_domain::request::{ModelRef, ModelRequest};
use jackfield_domain::spending::BUDGET_CURRENCY;
use jackfield_domain::spending_record::SpendingRecord;
use jackfield_domain::time::WallTime;
use jackfield_ports::journal::Journal as _;
use jackfield_ports::journal::JournalError;

use crate::error::{EngineError, chain, price_line};
use crate::state::{Engine, EngineState};

/// A model call that counts for budgets, before it is made.
#[derive(Clone, Debug)]
pub struct BudgetedCall {
    /// The names of the meters.
    pub budgets: Vec<Arc<str>>,
    /// The id of the call, which is that of its spending record.
    pub id: Arc<str>,
    /// An estimate of the tokens of the request.
    pub input: u64,
    /// The model.
    pub model: ModelRef,
    /// The maximum of tokens that the request asks for; `None` if it names none.
    pub output: Option<u64>,
    /// The price of the model, if known.
    pub price: Option<Price>,
    /// The service tier that the request asks for; `None` is the usual one.
    pub tier: Option<ServiceTier>,
}

impl BudgetedCall {
    /// The call of this request.
    pub(crate) fn of(
        id: Arc<str>,
        budgets: &[Arc<str>],
        request: &ModelRequest,
        price: Option<&Price>,
    ) -> Self {
        let tools = request.tools.iter().map(|tool| &**tool);
        let input = request.messages.iter().fold(
            estimate::preamble(&request.system, tools),
            |sum, message| sum.saturating_add(estimate::message(message)),
        );
        Self {
            budgets: budgets.to_vec(),
            id,
            input,
            model: request.model.clone(),
            output: request.settings.max_output_tokens.map(u64::from),
            price: price.cloned(),
            tier: request.settings.tier(),
        }
    }

    /// The most that it may use; `None` where that needs a price which is not known.
    fn amount(&self, needs_cost: bool) -> Option<Amount> {
        let output = self.output.unwrap_or(RESERVED_OUTPUT);
        let price = self.price.as_ref();
        let price = price.filter(|price| &*price.currency == BUDGET_CURRENCY);
        let cost = price.map(|price| price.reserve(self.tier, self.input, output));
        if needs_cost && cost.is_none() {
            return None;
        }
        Some(Amount {
            cost: cost.unwrap_or_default(),
            tokens: self.input.saturating_add(output),
        })
    }
}

impl Engine {
    /// Reserves what a model call may use of its budgets. The limits are those of now, so a raise holds from the next
    /// call on. The reservation ends with the spending record of the call's id, with
    /// [`release_budgets`](Self::release_budgets), or after an hour.
    ///
    /// # Errors
    ///
    /// The failure of a call that is not made: a budget is used up, or the journal cannot be read or written, or the
    /// price of the model is not known and a budget limits money.
    pub async fn reserve_budgets(&self, call: &BudgetedCall) -> Result<(), ModelFailure> {
        reserve(&self.shared, call).await
    }

    /// Ends the reservation of a call that used nothing.
    pub async fn release_budgets(&self, id: &Arc<str>, budgets: &[Arc<str>]) {
        release(&self.shared, id, budgets).await;
    }

    /// The budgets of these quotas, and what is used of them.
    ///
    /// # Errors
    ///
    /// [`EngineError::Journal`] if the journal cannot be read.
    pub async fn budget_states(
        &self,
        quotas: &[(Arc<str>, Quota)],
    ) -> Result<Vec<BudgetState>, EngineError> {
        let meters = quotas.iter().map(|(name, _)| Arc::clone(name)).collect();
        let seen = self
            .perform_on_meters(&MeterOperation::Look { meters })
            .await?;
        let MeterOutcome::Seen(meters) = seen else {
            return Ok(Vec::new());
        };
        let now = self.shared.clock.now().wall;
        let states = meters
            .iter()
            .zip(quotas)
            .flat_map(|(meter, (name, quota))| meter.budgets(name, quota, now, ""));
        Ok(states.collect())
    }
}

/// The failure of a call that does not fit this budget.
#[must_use]
pub fn exhausted(state: &BudgetState, now: WallTime) -> ModelFailure {
    let message = if state.is_spent() && state.period == BudgetPeriod::Minute {
        format!(
            "{state}, is used up: {} were spent; there is room again at {}",
            state.shown(state.spent),
            state.ends.to_rfc3339()
        )
    } else if state.is_spent() {
        format!(
            "{state}, is used up: {} were spent; the next {} begins at {}",
            state.shown(state.spent),
            state.period.as_str(),
            state.ends.to_rfc3339()
        )
    } else {
        format!(
            "{state}, has nothing left for now: {} were spent, and calls that run have reserved {}; come again in a moment",
            state.shown(state.spent),
            state.shown(state.reserved)
        )
    };
    let kind = ModelFailureKind::BudgetExhausted;
    ModelFailure {
        advice: RetryAdvice::After(state.retry_after(now)),
        ..ModelFailure::new(kind, Phase::BeforeSend, message)
    }
}

/// As [`Engine::reserve_budgets`].
pub(crate) async fn reserve(shared: &EngineState, call: &BudgetedCall) -> Result<(), ModelFailure> {
    let quotas = quotas_of(shared, &call.budgets).await;
    let quotas = quotas.map_err(|error| unavailable(&error))?;
    let needs_price = quotas.iter().find(|(_, quota)| quota.needs_price());
    let Some(amount) = call.amount(needs_price.is_some()) else {
        let (model, name) = (&call.model, needs_price.map_or("", |(name, _)| name));
        let message = format!(
            "the price of `{}/{}` in US dollars is not known, and `{name}` has a budget of money: write into the configuration, \
             above its tables, what a million tokens cost: `{}`; or allow unpriced models beside the budget (`unpriced`)",
            model.provider,
            model.model,
            price_line(model)
        );
        let kind = ModelFailureKind::Unsupported;
        return Err(ModelFailure::new(kind, Phase::BeforeSend, message));
    };
    let at = shared.clock.now().wall;
    let operation = MeterOperation::Reserve {
        amount,
        at,
        id: Arc::clone(&call.id),
        quotas,
    };
    match perform(shared, &operation).await {
        Ok(MeterOutcome::Exhausted(state)) => {
            let failure = exhausted(&state, at);
            tracing::info!(call = %call.id, why = failure.message, "a model call is refused");
            Err(failure)
        }
        Ok(_) => Ok(()),
        Err(error) => Err(unavailable(&error)),
    }
}

/// As [`Engine::release_budgets`].
pub(crate) async fn release(shared: &EngineState, id: &Arc<str>, budgets: &[Arc<str>]) {
    let operation = MeterOperation::Release {
        id: Arc::clone(id),
        meters: budgets.to_vec(),
    };
    if let Err(error) = perform(shared, &operation).await {
        let error = chain(&error);
        tracing::warn!(call = %id, %error, "a reservation could not be released, and ends within an hour");
    }
}

/// Stores what a call used, and with it what it is of its budgets. Tries again for two seconds. Returns whether the record
/// is new; `None` if it could not be stored. A journal that stores none has nothing to store.
pub(crate) async fn settle(shared: &EngineState, record: &SpendingRecord) -> Option<bool> {
    let Some(log) = shared.journal.spending() else {
        return Some(false);
    };
    let mut pause = FIRST_PAUSE;
    let is_new = loop {
        let error = match log.record(record).await {
            Ok(is_new) => break is_new,
            Err(error) => error,
        };
        if pause > MAX_PAUSE {
            let error = chain(&error);
            tracing::error!(call = %record.id, %error, "what a model call used could not be stored");
            return None;
        }
        tokio::time::sleep(pause).await;
        pause *= 4;
    };
    if is_new && !record.repeats_facts {
        for observer in shared.turn_observers.iter() {
            observer.record_stored(record);
        }
    }
    Some(is_new)
}

/// The quotas of these meters, as they are now.
pub(crate) async fn quotas_of(
    shared: &EngineState,
    budgets: &[Arc<str>],
) -> Result<Vec<(Arc<str>, Quota)>, JournalError> {
    let directory = shared.journal.directory();
    let directory = directory.ok_or_else(|| unreachable("this journal keeps no users and keys"))?;
    let mut quotas = Vec::with_capacity(budgets.len());
    for budget in budgets {
        let (kind, name) = budget.split_once(':').unwrap_or_default();
        let kind = match kind {
            "key" => EntryKind::Key,
            "team" => EntryKind::Team,
            _ => EntryKind::User,
        };
        let name = EntryName::parse(name).map_err(|error| JournalError::Unreachable {
            source: error.into(),
        })?;
        let found = directory.entry(kind, &name).await?;
        let found = found.ok_or_else(|| unreachable("an entry of the directory is missing"))?;
        let quota = found.entry.quota().unwrap_or_default();
        quotas.push((Arc::clone(budget), quota));
    }
    Ok(quotas)
}

/// Performs an operation on the meters of the durable journal.
pub(crate) async fn perform(
    shared: &EngineState,
    operation: &MeterOperation,
) -> Result<MeterOutcome, JournalError> {
    match shared.journal.meters() {
        Some(meters) => meters.perform(operation).await,
        None => Err(unreachable("this journal keeps no meters")),
    }
}

/// The failure of a call whose budgets cannot be asked: it is not made.
fn unavailable(error: &JournalError) -> ModelFailure {
    let error = chain(error);
    tracing::error!(%error, "the budgets of a model call cannot be read or written");
    let message = "the budgets of this key cannot be checked now: come again in a while";
    ModelFailure::new(
        ModelFailureKind::BudgetUnavailable,
        Phase::BeforeSend,
        message,
    )
}

fn unreachable(why: &'static str) -> JournalError {
    JournalError::Unreachable { source: why.into() }
}

/// The output tokens that a request without a maximum reserves. It stands in the way of no call by itself: a call is
/// refused only by what others have spent and reserved.
pub const RESERVED_OUTPUT: u64 = 32_000;
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const MAX_PAUSE: Duration = Duration::from_secs(2);
