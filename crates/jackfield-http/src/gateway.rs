//! The gateway: engines, models and limits, as one value that every handler shares.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use jackfield_assembly::{
    ApprovalsMode, Assembly, Config, ConfigError, Environment, MissingKey, OpenJournal,
    ProviderState, ServerToolbox, ToolsUsed,
};
use jackfield_domain::policy::Policy;
use jackfield_domain::request::ModelRef;
use jackfield_engine::{Engine, Ephemeral, TurnOptions};
use tokio::sync::Semaphore;

use crate::api::{IdempotencyKeys, WriteProbe};
use crate::auth::ApiKeys;
use crate::failures;
use crate::listing::ListingCache;

/// What a server is made of. Cloning shares it.
#[derive(Clone)]
pub struct Gateway {
    pub(crate) shared: Arc<GatewayState>,
}

pub(crate) struct GatewayState {
    pub(crate) config: Config,
    /// Requests with an idempotency key, which begin one turn at a time.
    pub(crate) keys: IdempotencyKeys,
    /// On the journal that lasts.
    pub(crate) kept: Engine,
    /// Whether there are any tools of this side.
    has_tools: bool,
    pub(crate) listed: ListingCache,
    /// The providers that need a key and have none.
    pub(crate) missing_keys: BTreeMap<Arc<str>, MissingKey>,
    /// What turns are sent with, by provider.
    pub(crate) options: BTreeMap<Arc<str>, TurnOptions>,
    /// What may run, whichever model asks.
    pub(crate) policy: Policy,
    pub(crate) providers: BTreeMap<Arc<str>, ProviderState>,
    pub(crate) servers: Vec<ServerToolbox>,
    /// One for each request that is answered.
    pub(crate) slots: Arc<Semaphore>,
    pub(crate) tokens: ApiKeys,
    /// On memory, for requests that leave nothing behind.
    pub(crate) unkept: Engine,
    /// Whether the journal can be written, as it was seen last.
    pub(crate) written: WriteProbe,
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gateway")
            .field("engine", &self.shared.kept)
            .finish_non_exhaustive()
    }
}

impl Gateway {
    /// A gateway of what was assembled.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] if a token cannot be had.
    pub fn new(
        assembled: Assembly,
        config: Config,
        environment: &Environment,
    ) -> Result<Self, ConfigError> {
        let mut assembled = assembled;
        // Whoever is asked before a person is may say yes where nobody else is.
        let can_ask = config.serve.approvals == ApprovalsMode::Wait;
        assembled.options.policy.can_ask = can_ask || assembled.engine.has_approver();
        let tokens = ApiKeys::of(&config.serve, environment)?;
        let chosen = assembled.options.model.clone();
        let mut options = BTreeMap::new();
        let names: Vec<Arc<str>> = assembled.providers.keys().cloned().collect();
        for provider in names {
            let model = ModelRef {
                model: Arc::clone(&chosen.model),
                provider: Arc::clone(&provider),
            };
            assembled.switch(&config, model);
            options.insert(provider, assembled.options.clone());
        }
        let memory = OpenJournal::in_passing().journal;
        let unkept = assembled
            .engine
            .with_ephemeral_journal(memory, Ephemeral::default());
        let has_tools = config.builtins
            || config.servers.values().any(|server| server.enabled)
            || !(config.web.tools.is_empty() && config.web.found.is_empty());
        let slots = Arc::new(Semaphore::new(config.serve.limits.streams));
        Ok(Self {
            shared: Arc::new(GatewayState {
                config,
                keys: IdempotencyKeys::default(),
                kept: assembled.engine,
                has_tools,
                listed: ListingCache::default(),
                missing_keys: assembled.missing_keys,
                options,
                policy: assembled.options.policy,
                providers: assembled.providers,
                servers: assembled.servers,
                slots,
                tokens,
                unkept,
                written: WriteProbe::default(),
            }),
        })
    }

    /// What may run.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.shared.policy
    }

    /// Whether everybody may ask who can reach the address.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.shared.tokens.is_open()
    }

    /// Whether a turn with these tools of this side may come to run one.
    pub(crate) fn offers(&self, used: &ToolsUsed, provider: &str) -> bool {
        let can = || self.shared.kept.capabilities(provider);
        self.shared.has_tools && *used != ToolsUsed::None && can().is_none_or(|can| can.tools)
    }

    /// What turns of this provider are sent with, as far as it is configured. That its key is missing is told to
    /// the operator alone, so that clients do not learn where keys are.
    pub(crate) fn options_of(&self, provider: &str) -> Option<TurnOptions> {
        if let Some(missing) = self.shared.missing_keys.get(provider) {
            failures::no_key(provider, &missing.why);
        }
        self.shared.options.get(provider).cloned()
    }

    /// The engine of turns that are kept, or of those that are not.
    pub(crate) fn engine_of(&self, is_kept: bool) -> &Engine {
        if is_kept {
            &self.shared.kept
        } else {
            &self.shared.unkept
        }
    }

    /// The engine on the journal that lasts.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.shared.kept
    }
}
