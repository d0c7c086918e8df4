//! The admission of requests: by the slots of this process, and by the quotas of the client, which all gateways with one
//! journal share.

use std::sync::Arc;

use jackfield_dialect_kit::serve::{ServeError, ServeErrorKind};
use jackfield_domain::fact::TurnEnd;
use jackfield_domain::quota::{
    BudgetPeriod, BudgetState, MeterOperation, MeterOutcome, Quota, QuotaLimit, QuotaRefusal,
    RateLeft,
};
use jackfield_engine::exhausted;

use crate::api_keys::Principal;
use crate::gateway::Gateway;
use crate::request_slot::{Admission, HOLD, QuotaHold, RequestSlot};
use crate::{failures, ids};

/// A refused request, with what is left of the rate that it does not fit.
#[derive(Clone, Debug)]
pub struct AdmissionRefusal {
    /// The client's error.
    pub error: ServeError,
    /// The rate, if that is the reason.
    pub rate: Option<RateLeft>,
}

impl From<ServeError> for AdmissionRefusal {
    fn from(error: ServeError) -> Self {
        Self { error, rate: None }
    }
}

impl Admission {
    /// Refuses a request that would begin a turn, where a budget of the client has nothing left.
    ///
    /// # Errors
    ///
    /// The failure `BudgetExhausted`, or [`ServeErrorKind::TooMany`] if that is so for a moment only.
    fn check_budgets(&self) -> Result<(), ServeError> {
        self.exhausted.clone().map_or(Ok(()), Err)
    }
}

impl RequestSlot {
    /// Refuses to begin a turn where a budget of the client had nothing left when the request was admitted.
    ///
    /// # Errors
    ///
    /// The failure `BudgetExhausted`, or [`ServeErrorKind::TooMany`] if that is so for a moment only.
    pub fn check_budgets(&self) -> Result<(), ServeError> {
        self.admission.check_budgets()
    }
}

impl Gateway {
    /// Admits a request to a model: takes a slot, and a request from each quota of the client. It counts until the slot
    /// is dropped. Call it within a Tokio runtime.
    ///
    /// # Errors
    ///
    /// [`ServeErrorKind::TooMany`] where it does not fit, the failure `BudgetExhausted` where a budget is used up, and
    /// [`ServeErrorKind::Unavailable`] if the client has a quota and the journal cannot be read or written.
    pub async fn admit(&self, client: &Principal) -> Result<RequestSlot, AdmissionRefusal> {
        let slot = self.admit_to_rates(client).await?;
        slot.admission.check_budgets()?;
        Ok(slot)
    }

    /// As [`admit`](Self::admit), for a request that may be answered by an earlier turn: a budget that is used up is
    /// noted, and [`RequestSlot::check_budgets`] says so where a turn begins.
    ///
    /// # Errors
    ///
    /// As for [`admit`](Self::admit), but for budgets that are used up.
    pub async fn admit_to_rates(
        &self,
        client: &Principal,
    ) -> Result<RequestSlot, AdmissionRefusal> {
        let mut slot = self.acquire_slot(client)?;
        let budgets = self.look_at_budgets(client).await?;
        slot.admission = self
            .take_from_quotas(client, |quota| quota, budgets)
            .await?;
        Ok(slot)
    }

    /// Admits a request that asks no model itself: one of an MCP client, or one that writes or exports. Takes a slot, and a
    /// request from each rate of the client. It is not one at once: a call may wait for an answer that the client brings by
    /// another request. Budgets are not looked at, as most such requests spend nothing.
    ///
    /// # Errors
    ///
    /// As for [`admit`](Self::admit), but for budgets.
    pub async fn admit_without_model(
        &self,
        client: &Principal,
    ) -> Result<RequestSlot, AdmissionRefusal> {
        let mut slot = self.acquire_slot(client)?;
        let of_rates = |quota: Quota| Quota {
            parallel: None,
            ..quota
        };
        slot.admission = self
            .take_from_quotas(client, of_rates, Admission::default())
            .await?;
        Ok(slot)
    }

    /// Admits a turn within a request of an MCP client, whose rates that has been taken from: as one at once, until the
    /// hold is dropped. Call it within a Tokio runtime.
    ///
    /// # Errors
    ///
    /// As for [`admit`](Self::admit).
    pub async fn admit_turn_of_mcp(
        &self,
        client: &Principal,
    ) -> Result<Admission, AdmissionRefusal> {
        let at_once = |quota: Quota| Quota {
            requests_per_minute: None,
            ..quota
        };
        let budgets = self.look_at_budgets(client).await?;
        let admission = self.take_from_quotas(client, at_once, budgets).await?;
        admission.check_budgets()?;
        Ok(admission)
    }

    /// Takes a request from these parts of the client's quotas, after a look at the budgets.
    async fn take_from_quotas(
        &self,
        client: &Principal,
        parts: fn(Quota) -> Quota,
        admission: Admission,
    ) -> Result<Admission, AdmissionRefusal> {
        let quotas = client.quotas.iter();
        let quotas = quotas.map(|(name, quota)| (Arc::clone(name), parts(*quota)));
        let quotas = quotas.filter(|(_, quota)| quota.limits_requests());
        let quotas: Vec<(Arc<str>, Quota)> = quotas.collect();
        if quotas.is_empty() {
            return Ok(admission);
        }
        let is_held = quotas.iter().any(|(_, quota)| quota.parallel.is_some());
        let now = self.engine().now();
        let id = ids::random().map_err(|error| failures::internal(&error))?;
        let id: Arc<str> = id.into();
        // It ends by itself if this future is dropped after the journal was written.
        let hold = QuotaHold::new(self.engine().clone(), Arc::clone(&id), client);
        let operation = MeterOperation::Admit {
            id,
            now,
            quotas,
            until: now.after(HOLD),
        };
        let performed = self.engine().perform_on_meters(&operation).await;
        match performed.map_err(|error| failures::meters_unavailable(&error))? {
            MeterOutcome::Done(rates) => {
                let rate = rates.into_iter().min_by_key(|rate| rate.left);
                let hold = if is_held {
                    Some(hold.renewing())
                } else {
                    hold.forget();
                    None
                };
                Ok(Admission {
                    hold,
                    rate,
                    ..admission
                })
            }
            MeterOutcome::Refused(refusal) => {
                hold.forget();
                Err(refused(refusal))
            }
            MeterOutcome::Exhausted(_) | MeterOutcome::Seen(_) => {
                hold.forget();
                Ok(Admission::default())
            }
        }
    }

    /// An admission with what is left of the client's budgets: the one of which the largest share is spent, or the one
    /// that has nothing left, with the error of a request whose first model call would not fit it. The calls themselves
    /// reserve what they may use.
    async fn look_at_budgets(&self, client: &Principal) -> Result<Admission, AdmissionRefusal> {
        let quotas = client.budget_quotas();
        if quotas.is_empty() {
            return Ok(Admission::default());
        }
        let states = self.engine().budget_states(&quotas).await;
        let states = states.map_err(|error| failures::meters_unavailable(&error))?;
        let now = self.engine().now();
        let full = states.iter().filter(|state| state.is_full());
        let full = full.max_by_key(|state| state.retry_after(now)).cloned();
        let is_minute = |state: &BudgetState| state.period == BudgetPeriod::Minute;
        let (minutes, others): (Vec<_>, Vec<_>) = states.into_iter().partition(is_minute);
        let tokens = minutes.into_iter().min_by_key(BudgetState::left);
        let tokens = tokens.map(Box::new);
        if let Some(full) = full {
            let failure = exhausted(&full, now);
            let error = failures::from_turn_end(&TurnEnd::Failed(failure));
            return Ok(Admission {
                budget: (!is_minute(&full)).then(|| Box::new(full)),
                exhausted: Some(error),
                tokens,
                ..Admission::default()
            });
        }
        let most = others.into_iter().max_by_key(BudgetState::percent);
        if let Some(most) = &most
            && self.is_budget_warned_of(most)
            && self.shared.budget_warnings.is_first(most)
        {
            let (percent, budget) = (most.percent(), most);
            tracing::warn!(percent, "{budget}, is {percent} % spent");
        }
        Ok(Admission {
            budget: most.map(Box::new),
            tokens,
            ..Admission::default()
        })
    }

    /// Whether so much of a budget is spent that its client is warned.
    #[must_use]
    pub fn is_budget_warned_of(&self, budget: &BudgetState) -> bool {
        let warning = self.config().budget_warning;
        warning.is_some_and(|percent| budget.percent() >= percent)
    }
}

fn refused(refusal: QuotaRefusal) -> AdmissionRefusal {
    let QuotaRefusal {
        limit,
        meter,
        retry_after,
    } = refusal;
    let whose = match meter.split_once(':') {
        Some(("key", _)) => "this key".to_owned(),
        Some(("team", team)) => format!("the team `{team}`"),
        Some(_) | None => "the user of this key".to_owned(),
    };
    let (what, rate) = match limit {
        QuotaLimit::Parallel(most) => (format!("{most} at once"), None),
        QuotaLimit::Requests(rate) => (format!("{} per minute", rate.limit), Some(rate)),
    };
    let message = format!("the requests of {whose} are limited to {what}: come again later");
    let seconds = retry_after.as_millis().div_ceil(1000).max(1);
    let kind = ServeErrorKind::TooMany {
        retry_after: u64::try_from(seconds).unwrap_or(u64::MAX),
    };
    AdmissionRefusal {
        error: ServeError::new(kind, message),
        rate,
    }
}
