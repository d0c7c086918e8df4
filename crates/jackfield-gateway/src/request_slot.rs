//! A request that is being answered, in this process and in the meters of its client.

mod shares;

use std::sync::Arc;
use std::time::Duration;

use jackfield_dialect_kit::serve::ServeError;
use jackfield_domain::quota::{BudgetState, MeterOperation, RateLeft};
use jackfield_domain::time::WallTime;
use jackfield_engine::{Engine, chain};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

pub(crate) use self::shares::{Exceeded, Share, Shares};
use crate::api_keys::Principal;

/// What was taken from the quotas of a client, and what is left of them.
#[derive(Debug, Default)]
pub struct Admission {
    /// The budget of which the largest share is spent, if the client has one.
    pub budget: Option<Box<BudgetState>>,
    /// The error of a request that begins a turn, if that budget has nothing left.
    pub exhausted: Option<ServeError>,
    /// The request at once, until it is dropped, if that is limited.
    pub hold: Option<QuotaHold>,
    /// The rate with the least left, if the client has one.
    pub rate: Option<RateLeft>,
    /// The tokens of a minute of which the least is left, if they are limited.
    pub tokens: Option<Box<BudgetState>>,
}

/// A request that is being answered, until this is dropped with the last byte of the answer.
#[derive(Debug)]
pub struct RequestSlot {
    pub(crate) admission: Admission,
    _share: Share,
}

impl RequestSlot {
    pub(crate) fn new(share: Share) -> Self {
        Self {
            admission: Admission::default(),
            _share: share,
        }
    }

    /// What is left of the client's requests per minute, if they are limited.
    #[must_use]
    pub const fn rate(&self) -> Option<&RateLeft> {
        self.admission.rate.as_ref()
    }

    /// The tokens of a minute that are left to the client, if they are limited.
    #[must_use]
    pub fn tokens(&self) -> Option<&BudgetState> {
        self.admission.tokens.as_deref()
    }

    /// The budget of the client of which the largest share is spent, if it has one.
    #[must_use]
    pub fn budget(&self) -> Option<&BudgetState> {
        self.admission.budget.as_deref()
    }
}

/// A request at once, in the meters of its client. Dropping it releases it in the background.
pub struct QuotaHold {
    engine: Engine,
    id: Arc<str>,
    meters: Vec<Arc<str>>,
    renewing: Option<AbortHandle>,
}

impl std::fmt::Debug for QuotaHold {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("QuotaHold").field("id", &self.id).finish()
    }
}

impl QuotaHold {
    pub(crate) fn new(engine: Engine, id: Arc<str>, client: &Principal) -> Self {
        let held = client.quotas.iter();
        let held = held.filter(|(_, quota)| quota.parallel.is_some());
        Self {
            engine,
            id,
            meters: held.map(|(name, _)| Arc::clone(name)).collect(),
            renewing: None,
        }
    }

    /// Renews it until it is dropped.
    pub(crate) fn renewing(mut self) -> Self {
        let (engine, id, meters) = (
            self.engine.clone(),
            Arc::clone(&self.id),
            self.meters.clone(),
        );
        let renewing = tokio::spawn(async move {
            loop {
                tokio::time::sleep(RENEWAL).await;
                let until = engine.now().after(HOLD);
                let operation = renewal(&id, &meters, until);
                if let Err(error) = engine.perform_on_meters(&operation).await {
                    let error = chain(&error);
                    tracing::warn!(%error, "a request at once could not be renewed");
                }
            }
        });
        self.renewing = Some(renewing.abort_handle());
        self
    }

    /// Drops it without a release: the journal has no hold of it.
    pub(crate) fn forget(mut self) {
        self.meters.clear();
    }
}

impl Drop for QuotaHold {
    fn drop(&mut self) {
        if let Some(renewing) = &self.renewing {
            renewing.abort();
        }
        let meters = std::mem::take(&mut self.meters);
        if meters.is_empty() {
            return;
        }
        // Without a runtime it ends by itself.
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        let (engine, id) = (self.engine.clone(), Arc::clone(&self.id));
        runtime.spawn(async move {
            let operation = MeterOperation::Release { id, meters };
            if let Err(error) = engine.perform_on_meters(&operation).await {
                let error = chain(&error);
                tracing::warn!(%error, "a request at once could not be released, and ends within a minute");
            }
        });
    }
}

fn renewal(id: &Arc<str>, meters: &[Arc<str>], until: WallTime) -> MeterOperation {
    MeterOperation::Renew {
        id: Arc::clone(id),
        meters: meters.to_vec(),
        until,
    }
}

/// How long a request counts after its gateway was last heard of.
pub(crate) const HOLD: Duration = Duration::from_secs(60);
/// How often a request that is being answered is renewed.
const RENEWAL: Duration = Duration::from_secs(20);
