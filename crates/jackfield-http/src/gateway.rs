//! The gateway: engines, models and limits, in one value that all handlers share.

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

/// The shared state of a server. Clones share it.
#[derive(Clone)]
pub struct Gateway {
    pub(crate) shared: Arc<GatewayState>,
}

pub(crate) struct GatewayState {
    pub(crate) config: Config,
    /// Locks for requests with an idempotency key, which begin one turn at a time.
    pub(crate) keys: IdempotencyKeys,
    /// The engine of the durable journal.
    pub(crate) durable_engine: Engine,
    /// Whether server tools are configured.
    has_tools: bool,
    pub(crate) listing_cache: ListingCache,
    /// The providers without the key that they need.
    pub(crate) missing_keys: BTreeMap<Arc<str>, MissingKey>,
    /// The options of turns, by provider.
    pub(crate) options: BTreeMap<Arc<str>, TurnOptions>,
    /// The tool policy, for all models.
    pub(crate) policy: Policy,
    pub(crate) providers: BTreeMap<Arc<str>, ProviderState>,
    pub(crate) servers: Vec<ServerToolbox>,
    /// One permit for each request in progress.
    pub(crate) slots: Arc<Semaphore>,
    pub(crate) tokens: ApiKeys,
    /// The engine of the journal in memory, for requests that are not stored.
    pub(crate) ephemeral_engine: Engine,
    /// Whether the journal was writable at the last check.
    pub(crate) write_probe: WriteProbe,
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gateway")
            .field("engine", &self.shared.durable_engine)
            .finish_non_exhaustive()
    }
}

impl Gateway {
    /// Builds a gateway from an assembly.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] if a token cannot be read.
    pub fn new(
        assembled: Assembly,
        config: Config,
        environment: &Environment,
    ) -> Result<Self, ConfigError> {
        let mut assembled = assembled;
        // An approver may allow a call even where no person can be asked.
        let can_ask = config.serve.approvals == ApprovalsMode::Wait;
        assembled.options.policy.can_ask = can_ask || assembled.engine.has_approver();
        let tokens = ApiKeys::from_config(&config.serve, environment)?;
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
        let memory = OpenJournal::ephemeral().journal;
        let ephemeral_engine = assembled
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
                durable_engine: assembled.engine,
                has_tools,
                listing_cache: ListingCache::default(),
                missing_keys: assembled.missing_keys,
                options,
                policy: assembled.options.policy,
                providers: assembled.providers,
                servers: assembled.servers,
                slots,
                tokens,
                ephemeral_engine,
                write_probe: WriteProbe::default(),
            }),
        })
    }

    /// The tool policy.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.shared.policy
    }

    /// Whether every client that reaches the address is accepted.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.shared.tokens.is_open()
    }

    /// Whether a turn with these server tools may run one of them.
    pub(crate) fn offers(&self, used: &ToolsUsed, provider: &str) -> bool {
        let can = || self.shared.durable_engine.capabilities(provider);
        self.shared.has_tools && *used != ToolsUsed::None && can().is_none_or(|can| can.tools)
    }

    /// The configured options of turns of this provider. A missing key is only logged for the operator, so that
    /// clients do not learn where keys are stored.
    pub(crate) fn options_of(&self, provider: &str) -> Option<TurnOptions> {
        if let Some(missing) = self.shared.missing_keys.get(provider) {
            failures::log_missing_key(provider, &missing.reason);
        }
        self.shared.options.get(provider).cloned()
    }

    /// The engine of turns that are kept, or of those that are not.
    pub(crate) fn engine_of(&self, is_durable: bool) -> &Engine {
        if is_durable {
            &self.shared.durable_engine
        } else {
            &self.shared.ephemeral_engine
        }
    }

    /// The engine of the durable journal.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.shared.durable_engine
    }
}
