//! The models that clients may name.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::listing::ListedModel;
use jackfield_domain::request::ModelRef;
use jackfield_engine::Engine;
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::config::GatewayConfig;

/// The latest listing of the providers, and its time.
#[derive(Debug, Default)]
pub(crate) struct ListingCache(Mutex<Option<(Instant, Arc<ModelCatalog>)>>);

/// The models that clients may name.
#[derive(Debug, Default)]
pub struct ModelCatalog {
    /// The models of each provider; a provider that does not list models is missing.
    by_provider: BTreeMap<Arc<str>, Vec<ListedModel>>,
    /// The listing for clients.
    pub entries: Vec<ListedModel>,
}

impl ModelCatalog {
    /// A model, if its provider lists it.
    #[must_use]
    pub fn find(&self, model: &ModelRef) -> Option<&ListedModel> {
        let mut known = self.by_provider.get(&model.provider).into_iter().flatten();
        known.find(|known| known.id == model.model)
    }

    /// Whether this provider lists its models.
    #[must_use]
    pub fn lists(&self, provider: &str) -> bool {
        self.by_provider.contains_key(provider)
    }
}

impl ListingCache {
    /// The models that clients may name.
    pub(crate) async fn models(
        &self,
        engine: &Engine,
        config: &GatewayConfig,
    ) -> Arc<ModelCatalog> {
        let mut cached = self.0.lock().await;
        if let Some((at, models)) = &*cached
            && at.elapsed() < FRESH
        {
            return Arc::clone(models);
        }
        let mut asking = JoinSet::new();
        let providers = config.options.keys().cloned();
        let has_key = |name: &Arc<str>| !config.missing_keys.contains_key(name);
        for provider in providers.filter(has_key) {
            let engine = engine.clone();
            asking.spawn(async move {
                let asked = tokio::time::timeout(TIME_LIMIT, engine.models(&provider)).await;
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
        let chosen = &config.default_options.model;
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
        let assistants = config.assistants.iter();
        let assistants = assistants.filter(|(name, _)| !config.aliases.contains_key(*name));
        let assistants = assistants.map(|(name, assistant)| (name, &assistant.options.model));
        let routes = engine.routes();
        let routes = routes.iter().filter_map(|status| {
            let first = status.route.targets.first()?;
            Some((&status.route.name, &first.model))
        });
        let names = assistants.chain(&config.aliases).chain(routes);
        let names = names.map(|(name, model)| ListedModel {
            id: Arc::clone(name),
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
        models.entries = names.chain(chosen).chain(own).collect();
        let models = Arc::new(models);
        *cached = Some((Instant::now(), Arc::clone(&models)));
        models
    }
}

/// How long a listing stays fresh.
const FRESH: Duration = Duration::from_secs(60);
/// The timeout of one provider's listing.
const TIME_LIMIT: Duration = Duration::from_secs(5);
