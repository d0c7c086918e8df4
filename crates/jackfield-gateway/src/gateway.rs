//! The gateway: engines, models and limits, in one value that all handlers share.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use jackfield_dialect_kit::serve::{ServeError, ServeErrorKind};
use jackfield_domain::caller::{Caller, Display};
use jackfield_domain::ids::SessionId;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::policy::Policy;
use jackfield_engine::{Engine, Ephemeral, Outage, ServerTools, TurnOptions};
use jackfield_ports::journal::Journal;
use tokio::sync::{OwnedMutexGuard, Semaphore, watch};

use crate::agents::{AGENTS, AgentQuestions};
use crate::api_keys::Principal;
use crate::budget_warnings::BudgetWarnings;
use crate::catalog::{ListingCache, ModelCatalog};
use crate::config::{GatewayConfig, ToolSetEntry};
use crate::doctor::{CheckedItem, Doctor, DoctorSlot};
use crate::key_locks::KeyLocks;
use crate::matcher::RequestMatcher;
use crate::question_feed::QuestionFeed;
use crate::request_slot::RequestSlot;
use crate::write_probe::WriteProbe;
use crate::{failures, tools};

/// The shared state of a gateway. Clones share it.
#[derive(Clone)]
pub struct Gateway {
    pub(crate) shared: Arc<GatewayState>,
}

pub(crate) struct GatewayState {
    pub(crate) budget_warnings: BudgetWarnings,
    pub(crate) config: GatewayConfig,
    doctor: DoctorSlot,
    engine: Engine,
    /// Whether the directory has a key: it never has none again.
    pub(crate) has_seen_keys: AtomicBool,
    /// Locks of sessions, for requests with an idempotency key, which begin one turn at a time.
    session_locks: KeyLocks<SessionId>,
    pub(crate) listing_cache: ListingCache,
    pub(crate) matcher: RequestMatcher,
    questions: Arc<QuestionFeed>,
    /// One permit for each request in progress.
    slots: Arc<Semaphore>,
    /// Whether the journal was writable at the last check.
    write_probe: WriteProbe,
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gateway")
            .field("engine", &self.shared.engine)
            .finish_non_exhaustive()
    }
}

impl Gateway {
    /// A gateway in front of an engine, before the engine's first turn. Sessions that are not kept are in the other
    /// journal, which is in memory and belongs to this gateway alone.
    #[must_use]
    pub fn new(engine: Engine, memory: Arc<dyn Journal>, config: GatewayConfig) -> Self {
        let engine = engine
            .with_ephemeral_journal(memory, Ephemeral::default())
            .with_model(AGENTS, Arc::new(AgentQuestions));
        let slots = Arc::new(Semaphore::new(config.limits.streams));
        Self {
            shared: Arc::new(GatewayState {
                budget_warnings: BudgetWarnings::default(),
                config,
                doctor: DoctorSlot::default(),
                matcher: RequestMatcher::new(engine.clone()),
                engine,
                has_seen_keys: AtomicBool::new(false),
                session_locks: KeyLocks::default(),
                listing_cache: ListingCache::default(),
                questions: Arc::default(),
                slots,
                write_probe: WriteProbe::default(),
            }),
        }
    }

    /// Its configuration.
    #[must_use]
    pub fn config(&self) -> &GatewayConfig {
        &self.shared.config
    }

    /// Sets the checks of the installation, which admins may run. The first call counts.
    pub fn set_doctor(&self, doctor: Arc<dyn Doctor>) {
        self.shared.doctor.set(doctor);
    }

    /// Checks the installation, one check at a time, within two minutes; `None` if this gateway has no checks.
    pub async fn check_installation(&self) -> Option<Vec<CheckedItem>> {
        self.shared.doctor.check().await
    }

    /// The tool policy, which is the same for all models.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.shared.config.default_options.policy
    }

    /// Whether a turn of this client with these server tools may run one of them.
    #[must_use]
    pub fn offers(&self, client: &Principal, used: &ServerTools, provider: &str) -> bool {
        let can = || self.shared.engine.capabilities(provider);
        *used != ServerTools::None
            && (self.has_configured_tools() || client.has_own_servers)
            && can().is_none_or(|can| can.tools)
    }

    /// Whether the configuration has tools or servers that turns may use.
    pub(crate) fn has_configured_tools(&self) -> bool {
        let config = &self.shared.config;
        config.has_tools || config.servers.is_any_enabled()
    }

    /// The configured options of turns of this provider. A missing key is only logged for the operator, so that
    /// clients do not learn where keys are stored.
    #[must_use]
    pub fn options_of(&self, provider: &str) -> Option<TurnOptions> {
        let config = &self.shared.config;
        if let Some(reason) = config.missing_keys.get(provider) {
            failures::log_missing_key(provider, reason);
        }
        config.options.get(provider).cloned()
    }

    /// A client that looks at tools or uses them itself, without a turn.
    #[must_use]
    pub fn tool_caller(client: &Principal) -> Arc<Caller> {
        Arc::new(Caller {
            body: None,
            dialect: "mcp".into(),
            display: Display::default(),
            echo: None,
            key: None,
            model: "".into(),
            principal: Arc::clone(&client.principal),
            view: None,
        })
    }

    /// The options for a client that uses the server tools itself, without a turn: those that its token permits, and
    /// of a set of tools those alone.
    #[must_use]
    pub fn tool_options(&self, client: &Principal, set: Option<&[ToolSetEntry]>) -> TurnOptions {
        let server_tools = match set {
            None => client.tools.clone(),
            Some(set) => {
                let origins = set.iter().map(|tool| &tool.origin);
                let patterns = origins.map(|tool| format!("{}/{}", tool.toolbox, tool.tool).into());
                tools::restrict(&client.tools, ServerTools::Only(patterns.collect()))
            }
        };
        TurnOptions {
            caller: Some(Self::tool_caller(client)),
            server_tools,
            ..self.shared.config.default_options.clone()
        }
    }

    /// The engine.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.shared.engine
    }

    /// The owner of provider state in a request: the model's provider if it speaks the request's dialect, and none
    /// otherwise. Errors in the body are left to the dialect.
    #[must_use]
    pub fn owner_of(&self, dialect: &str, model: &str) -> StateOwner {
        if self.engine().route(model).is_some() && !self.config().aliases.contains_key(model) {
            let own = self.owner_of_route(dialect, model);
            return own.unwrap_or_else(|| unknown_owner(dialect));
        }
        let own = self.model(model).ok().and_then(|model| {
            let engine = &self.shared.engine;
            engine.state_owner(&model.provider, &model.model)
        });
        own.filter(|owner| *owner.dialect == *dialect)
            .unwrap_or_else(|| unknown_owner(dialect))
    }

    /// A slot of the limit on concurrent requests, to be held until the last byte was sent.
    ///
    /// # Errors
    ///
    /// [`ServeErrorKind::TooMany`] at the limit.
    pub fn acquire_slot(&self) -> Result<RequestSlot, ServeError> {
        let slots = Arc::clone(&self.shared.slots);
        let slot = slots.try_acquire_owned().map(RequestSlot::new);
        slot.map_err(|_| {
            let most = self.shared.config.limits.streams;
            let message =
                format!("{most} requests are being answered already; come again in a moment");
            ServeError::new(ServeErrorKind::TooMany { retry_after: 1 }, message)
        })
    }

    /// Refuses a new turn at the limit. Turns whose client disconnected and background turns keep running, and
    /// share the limit on concurrent requests. Recovered turns have a limit of their own, and keep no request out.
    ///
    /// # Errors
    ///
    /// [`ServeErrorKind::TooMany`] at the limit.
    pub fn check_turn_limit(&self) -> Result<(), ServeError> {
        let most = self.shared.config.limits.streams;
        let engine = self.engine();
        let of_keepers = engine.keeper_turns_in_flight();
        if engine.turns_in_flight().saturating_sub(of_keepers) < most {
            return Ok(());
        }
        let message = format!("{most} turns are under way already; come again in a moment");
        Err(ServeError::new(
            ServeErrorKind::TooMany { retry_after: 1 },
            message,
        ))
    }

    /// Waits until no other request with an idempotency key is about to begin a turn in this session.
    pub async fn lock_session(&self, session: &SessionId) -> OwnedMutexGuard<()> {
        self.shared.session_locks.lock(session).await
    }

    /// Tells when the open questions of any session have changed, in whichever process; within a second. Call it within
    /// a Tokio runtime.
    #[must_use]
    pub fn watch_questions(&self) -> watch::Receiver<u64> {
        self.shared.questions.subscribe(&self.shared.engine)
    }

    /// Checks that the journal can be written. The result is cached for two seconds.
    ///
    /// # Errors
    ///
    /// Why it cannot be written, in words for every client, if that is known.
    pub async fn check_writable(&self) -> Result<(), Option<Outage>> {
        self.shared.write_probe.check(&self.shared.engine).await
    }

    /// The models that clients may name: the assistants and aliases first, then the models of each provider with a key. A
    /// provider that cannot be reached is left out. The listing is cached for a minute.
    pub async fn model_catalog(&self) -> Arc<ModelCatalog> {
        let shared = &self.shared;
        let listing = shared.listing_cache.models(&shared.engine, &shared.config);
        listing.await
    }
}

/// The owner of state whose owner is not known: no provider gets it.
fn unknown_owner(dialect: &str) -> StateOwner {
    StateOwner {
        dialect: dialect.into(),
        endpoint: "".into(),
        model: "".into(),
    }
}
