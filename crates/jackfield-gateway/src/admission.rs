//! The admission of requests: by the slots of this process, and by the quotas of the client, which all gateways with one
//! journal share.

use std::sync::Arc;

use jackfield_dialect_kit::serve::{ServeError, ServeErrorKind};
use jackfield_domain::quota::{MeterOperation, MeterOutcome, QuotaLimit, QuotaRefusal, RateLeft};
use jackfield_engine::{Clock as _, SystemClock};

use crate::api_keys::Principal;
use crate::gateway::Gateway;
use crate::request_slot::{HOLD, QuotaHold, RequestSlot};
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

impl Gateway {
    /// Admits a request to a model: takes a slot, and a request from each quota of the client. It counts until the slot
    /// is dropped. Call it within a Tokio runtime.
    ///
    /// # Errors
    ///
    /// [`ServeErrorKind::TooMany`] where it does not fit, and [`ServeErrorKind::Unavailable`] if the client has a quota
    /// and the journal cannot be read or written.
    pub async fn admit(&self, client: &Principal) -> Result<RequestSlot, AdmissionRefusal> {
        let mut slot = self.acquire_slot()?;
        (slot.hold, slot.rate) = self.admit_to_quotas(client).await?;
        Ok(slot)
    }

    /// Takes a request from each quota of the client, without a slot: for what runs in a request that has one. It counts
    /// until the hold is dropped. Call it within a Tokio runtime.
    ///
    /// # Errors
    ///
    /// As for [`admit`](Self::admit).
    pub async fn admit_to_quotas(
        &self,
        client: &Principal,
    ) -> Result<(Option<QuotaHold>, Option<RateLeft>), AdmissionRefusal> {
        if client.quotas.is_empty() {
            return Ok((None, None));
        }
        let now = SystemClock::default().now().wall;
        let id: Arc<str> = ids::random().into();
        // It ends by itself if this future is dropped after the journal was written.
        let hold = QuotaHold::new(self.engine().clone(), Arc::clone(&id), client);
        let operation = MeterOperation::Admit {
            id,
            now,
            quotas: client.quotas.clone(),
            until: now.after(HOLD),
        };
        let performed = self.engine().perform_on_meters(&operation).await;
        match performed.map_err(|error| failures::meters_unavailable(&error))? {
            MeterOutcome::Done(rates) => {
                let rate = rates.into_iter().min_by_key(|rate| rate.left);
                let is_held = client
                    .quotas
                    .iter()
                    .any(|(_, quota)| quota.parallel.is_some());
                if is_held {
                    return Ok((Some(hold.renewing()), rate));
                }
                hold.forget();
                Ok((None, rate))
            }
            MeterOutcome::Refused(refusal) => {
                hold.forget();
                Err(refused(refusal))
            }
        }
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
