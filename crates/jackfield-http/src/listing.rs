//! The model listing of the gateway.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Query, State};
use axum::response::Response;
use http::HeaderMap;
use jackfield_dialect_claude::models as claude;
use jackfield_dialect_kit::serve::{ServeError, ServeErrorKind};
use jackfield_dialect_openai::models as openai;
use jackfield_domain::listing::ListedModel;
use jackfield_domain::request::ModelRef;
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::dialects::is_claude;
use crate::gateway::Gateway;
use crate::router::{self, HttpRefusal, PathTail};

/// The latest listing of the providers, and its time.
#[derive(Debug, Default)]
pub(crate) struct ListingCache(Mutex<Option<(Instant, Arc<ModelCatalog>)>>);

/// The models that clients may name.
#[derive(Debug, Default)]
pub(crate) struct ModelCatalog {
    /// The models of each provider; a provider that does not list models is missing.
    by_provider: BTreeMap<Arc<str>, Vec<ListedModel>>,
    /// The listing for clients.
    pub(crate) entries: Vec<ListedModel>,
}

impl ModelCatalog {
    fn find(&self, model: &ModelRef) -> Option<&ListedModel> {
        let mut known = self.by_provider.get(&model.provider).into_iter().flatten();
        known.find(|known| known.id == model.model)
    }
}

/// `GET /v1/models`
pub(crate) async fn all(
    State(gateway): State<Gateway>,
    Query(query): Query<BTreeMap<String, String>>,
    headers: HeaderMap,
) -> Result<Response, HttpRefusal> {
    gateway.authenticate(&headers)?;
    let models = gateway.model_catalog().await;
    let body = if is_claude(&headers) {
        claude::page(&models.entries, &|name| query.get(name).cloned())?
    } else {
        openai::to_wire(&models.entries, MADE)
            .to_string()
            .into_bytes()
    };
    Ok(router::json(body))
}

/// `GET /v1/models/{id}`
pub(crate) async fn one(
    State(gateway): State<Gateway>,
    PathTail(name): PathTail,
    headers: HeaderMap,
) -> Result<Response, HttpRefusal> {
    gateway.authenticate(&headers)?;
    let requested = gateway.model(&name)?;
    let models = gateway.model_catalog().await;
    let is_default = requested == gateway.shared.config.options.model;
    let known = models.find(&requested).cloned();
    if known.is_none() && !is_default && models.by_provider.contains_key(&requested.provider) {
        let message = format!(
            "`{}` lists no model `{}`",
            requested.provider, requested.model
        );
        return Err(ServeError::new(ServeErrorKind::NoSuchModel, message).into());
    }
    // A provider may have models that it does not list.
    let model = ListedModel {
        id: name.as_str().into(),
        ..known.unwrap_or_else(|| ListedModel::new(""))
    };
    let body = if is_claude(&headers) {
        claude::model_body(&model)
    } else {
        openai::one_to_wire(&model, MADE).to_string().into_bytes()
    };
    Ok(router::json(body))
}

impl Gateway {
    /// The models that clients may name: the aliases first, then the models of each provider with a key. A
    /// provider that cannot be reached is left out.
    pub(crate) async fn model_catalog(&self) -> Arc<ModelCatalog> {
        let mut cached = self.shared.listing_cache.0.lock().await;
        if let Some((at, models)) = &*cached
            && at.elapsed() < FRESH
        {
            return Arc::clone(models);
        }
        let config = &self.shared.config;
        let mut asking = JoinSet::new();
        let providers = self.shared.options.keys().cloned();
        let has_key = |name: &Arc<str>| !self.shared.missing_keys.contains_key(name);
        for provider in providers.filter(has_key) {
            let engine = self.shared.durable_engine.clone();
            asking.spawn(async move {
                let asked = tokio::time::timeout(PATIENCE, engine.models(&provider)).await;
                match asked {
                    Ok(Some(Ok(models))) => Some((provider, models)),
                    Ok(Some(Err(error))) => {
                        tracing::debug!(%provider, %error, "a provider does not list its models");
                        None
                    }
                    Ok(None) | Err(_) => None,
                }
            });
        }
        let answers = asking.join_all().await.into_iter().flatten();
        let mut models = ModelCatalog {
            by_provider: answers.collect(),
            entries: Vec::new(),
        };
        let chosen = &config.options.model;
        let is_unlisted = models.find(chosen).is_none();
        let chosen = is_unlisted.then(|| {
            (
                &chosen.provider,
                ListedModel::new(Arc::clone(&chosen.model)),
            )
        });
        let full = |provider: &str, model: &ListedModel| ListedModel {
            id: format!("{provider}/{}", model.id).into(),
            ..model.clone()
        };
        let aliases = config.aliases.iter().map(|(alias, model)| ListedModel {
            id: Arc::clone(alias),
            ..models
                .find(model)
                .cloned()
                .unwrap_or_else(|| ListedModel::new(""))
        });
        let chosen = chosen.iter().map(|(provider, model)| full(provider, model));
        let own = models
            .by_provider
            .iter()
            .flat_map(|(provider, models)| models.iter().map(|model| full(provider, model)));
        models.entries = aliases.chain(chosen).chain(own).collect();
        let models = Arc::new(models);
        *cached = Some((Instant::now(), Arc::clone(&models)));
        models
    }
}

/// How long a listing stays fresh.
const FRESH: Duration = Duration::from_secs(60);
/// The creation time of models without one.
const MADE: u64 = 0;
/// The timeout of one provider's listing.
const PATIENCE: Duration = Duration::from_secs(5);
