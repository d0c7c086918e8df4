//! The models, as clients ask which there are.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Query, State};
use axum::response::Response;
use http::HeaderMap;
use jackfield_dialect_claude::models as claude;
use jackfield_dialect_openai::models as openai;
use jackfield_domain::listing::ListedModel;
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::dialects::is_claude;
use crate::gateway::Gateway;
use crate::router::{self, Named, Refusal};

/// What providers said last, and when.
#[derive(Debug, Default)]
pub(crate) struct Listed(Mutex<Option<(Instant, Arc<Vec<ListedModel>>)>>);

/// `GET /v1/models`
pub(crate) async fn all(
    State(gateway): State<Gateway>,
    Query(query): Query<BTreeMap<String, String>>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    gateway.asker(&headers)?;
    let models = gateway.listed().await;
    let body = if is_claude(&headers) {
        claude::page(&models, &|name| query.get(name).cloned())?
    } else {
        openai::to_wire(&models, MADE).to_string().into_bytes()
    };
    Ok(router::json(body))
}

/// `GET /v1/models/{id}`
pub(crate) async fn one(
    State(gateway): State<Gateway>,
    Named(name): Named,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    gateway.asker(&headers)?;
    gateway.model(&name)?;
    let models = gateway.listed().await;
    let known = models.iter().find(|model| *model.id == *name).cloned();
    // What a provider does not tell of, it may have all the same.
    let model = known.unwrap_or_else(|| ListedModel::new(name));
    let body = if is_claude(&headers) {
        claude::one(&model)
    } else {
        openai::one_to_wire(&model, MADE).to_string().into_bytes()
    };
    Ok(router::json(body))
}

impl Gateway {
    /// The models that clients may name: the aliases first, then what each provider with a key says that it
    /// has. A provider that cannot be asked is left out.
    pub(crate) async fn listed(&self) -> Arc<Vec<ListedModel>> {
        let mut listed = self.shared.listed.0.lock().await;
        if let Some((at, models)) = &*listed
            && at.elapsed() < FRESH
        {
            return Arc::clone(models);
        }
        let config = &self.shared.config;
        let mut asking = JoinSet::new();
        let providers = self.shared.options.keys().cloned();
        let has_key = |name: &Arc<str>| !self.shared.missing_keys.contains_key(name);
        for provider in providers.filter(has_key) {
            let engine = self.shared.kept.clone();
            asking.spawn(async move {
                let asked = tokio::time::timeout(PATIENCE, engine.models(&provider)).await;
                let models = match asked {
                    Ok(Some(Ok(models))) => models,
                    Ok(Some(Err(error))) => {
                        tracing::debug!(%provider, %error, "a provider does not list its models");
                        Vec::new()
                    }
                    Ok(None) | Err(_) => Vec::new(),
                };
                (provider, models)
            });
        }
        let mut by_provider: BTreeMap<Arc<str>, Vec<ListedModel>> =
            asking.join_all().await.into_iter().collect();
        let chosen = &config.options.model;
        let asked = by_provider.entry(Arc::clone(&chosen.provider)).or_default();
        if !asked.iter().any(|model| model.id == chosen.model) {
            asked.insert(0, ListedModel::new(Arc::clone(&chosen.model)));
        }
        let full = |provider: &str, model: &ListedModel| ListedModel {
            id: format!("{provider}/{}", model.id).into(),
            ..model.clone()
        };
        let of = |provider: &str, name: &str| {
            let mut known = by_provider.get(provider).into_iter().flatten();
            known.find(|model| *model.id == *name).cloned()
        };
        let aliases = config.aliases.iter().map(|(alias, model)| ListedModel {
            id: Arc::clone(alias),
            ..of(&model.provider, &model.model).unwrap_or_else(|| ListedModel::new(""))
        });
        let own = by_provider
            .iter()
            .flat_map(|(provider, models)| models.iter().map(|model| full(provider, model)));
        let models: Arc<Vec<ListedModel>> = Arc::new(aliases.chain(own).collect());
        *listed = Some((Instant::now(), Arc::clone(&models)));
        models
    }
}

/// For how long what was said is good.
const FRESH: Duration = Duration::from_secs(60);
/// When a model was made, nobody tells.
const MADE: u64 = 0;
/// How long a provider has to say what it has.
const PATIENCE: Duration = Duration::from_secs(5);
