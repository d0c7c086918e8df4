//! Contacts providers by listing their models, the cheapest test of whether they can be reached.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jackfield_assembly::Assembly;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_domain::listing::ListedModel;
use jackfield_engine::Engine;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// The result of contacting a provider.
#[derive(Clone, Debug)]
pub(crate) struct ReachResult {
    pub(crate) listed: Result<Vec<ListedModel>, ModelFailure>,
    pub(crate) duration: Duration,
}

impl ReachResult {
    /// Whether the provider is reachable and accepts the key, even if it has no model list.
    pub(crate) fn is_well(&self) -> bool {
        self.failure().is_none()
    }

    /// Why the provider cannot be used, if it cannot.
    pub(crate) fn failure(&self) -> Option<&ModelFailure> {
        let failure = self.listed.as_ref().err()?;
        (failure.kind != ModelFailureKind::Unsupported).then_some(failure)
    }
}

/// Contacts a provider, for at most [`LIMIT`].
pub(crate) async fn reach(engine: Engine, provider: Arc<str>) -> ReachResult {
    let since = Instant::now();
    let listed = match timeout(LIMIT, engine.models(&provider)).await {
        Ok(Some(Ok(models))) => Ok(models),
        Ok(Some(Err(error))) => Err(error.failure),
        Ok(None) => Err(failure(
            ModelFailureKind::Unsupported,
            format!("there is no provider `{provider}`"),
        )),
        Err(_) => Err(failure(
            ModelFailureKind::Timeout,
            format!("it gave no list of its models within {} s", LIMIT.as_secs()),
        )),
    };
    ReachResult {
        listed,
        duration: since.elapsed(),
    }
}

/// Contacts all providers concurrently; the results keep their order.
pub(crate) async fn reach_all(
    assembled: &Assembly,
    names: Vec<Arc<str>>,
) -> Vec<(Arc<str>, ReachResult)> {
    let mut asking = JoinSet::new();
    for (place, name) in names.into_iter().enumerate() {
        let engine = assembled.engine.clone();
        asking.spawn(async move {
            let reached = reach(engine, Arc::clone(&name)).await;
            (place, name, reached)
        });
    }
    let mut all = asking.join_all().await;
    all.sort_by_key(|(place, ..)| *place);
    let all = all.into_iter();
    all.map(|(_, name, reached)| (name, reached)).collect()
}

fn failure(kind: ModelFailureKind, message: String) -> ModelFailure {
    ModelFailure::new(kind, Phase::BeforeSend, message)
}

/// How long a provider may take to list its models.
pub(crate) const LIMIT: Duration = Duration::from_secs(10);
