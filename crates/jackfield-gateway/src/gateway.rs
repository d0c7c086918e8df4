//! The gateway: engines, models and limits, in one value that all handlers share.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use jackfield_dialect_kit::serve::{ServeError, ServeErrorKind};
use jackfield_domain::caller::{Caller, Display};
use jackfield_domain::ids::SessionId;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::policy::Policy;
use jackfield_engine::{Engine, Ephemeral, Held, Outage, ServerTools, TurnOptions};
use jackfield_ports::journal::Journal;
use tokio::sync::{OwnedMutexGuard, watch};

use crate::agents::{AGENTS, AgentQuestions};
use crate::api_keys::Principal;
use crate::budget_warnings::BudgetWarnings;
use crate::catalog::{ListingCache, ModelCatalog};
use crate::config::{GatewayConfig, ToolSetEntry};
use crate::doctor::{CheckedItem, Doctor, DoctorSlot};
use crate::key_locks::KeyLocks;
use crate::matcher::RequestMatcher;
use crate::question_feed::QuestionFeed;
use crate::request_slot::{Exceeded, RequestSlot, Share, Shares};
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
    /// The bytes of bodies that are read and not yet handled.
    bodies: Arc<Shares>,
    /// The requests in progress.
    requests: Arc<Shares>,
    /// The turns that requests have begun, and that this process drives.
    turns: Arc<Shares>,
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
        let limits = config.limits;
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
                bodies: Shares::new(limits.body.saturating_mul(BODIES)),
                requests: Shares::new(limits.streams),
                turns: Shares::new(limits.streams),
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

    /// A slot of the limit on concurrent requests, to be held until the last byte was sent. Clients share that limit.
    ///
    /// # Errors
    ///
    /// [`ServeErrorKind::TooMany`] at the limit.
    pub fn acquire_slot(&self, client: &Principal) -> Result<RequestSlot, ServeError> {
        let share = self.shared.requests.take(&client.principal, 1);
        let share = share.map_err(|exceeded| too_many("requests are being answered", exceeded))?;
        Ok(RequestSlot::new(share))
    }

    /// A place for a client among the turns that run, for [`TurnOptions::held`]. Turns whose client disconnected and
    /// background turns keep it; clients share as many as there may be requests. Recovered turns have a limit of their
    /// own, and keep no request out.
    ///
    /// # Errors
    ///
    /// [`ServeErrorKind::TooMany`] at the limit.
    pub fn hold_turn(&self, principal: &Arc<str>) -> Result<Held, ServeError> {
        let share = self.shared.turns.take(principal, 1);
        let share = share.map_err(|exceeded| too_many("turns are under way", exceeded))?;
        Ok(Arc::new(share))
    }

    /// The same for a turn that goes on, which is not refused.
    #[must_use]
    pub fn count_turn(&self, principal: &Arc<str>) -> Held {
        Arc::new(self.shared.turns.count(principal))
    }

    /// Room for the body of a request, of no bytes yet. Clients share the room for eight of the largest bodies.
    #[must_use]
    pub fn body_room(&self, client: &Principal) -> BodyRoom {
        BodyRoom {
            owner: Arc::clone(&client.principal),
            room: Arc::clone(&self.shared.bodies),
            share: None,
            size: 0,
        }
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

/// Room in memory for a body, until this is dropped.
#[derive(Debug)]
pub struct BodyRoom {
    owner: Arc<str>,
    room: Arc<Shares>,
    share: Option<Share>,
    size: usize,
}

impl BodyRoom {
    /// Makes room for so many more bytes. A small body always has some: a cancellation, an answer to a question.
    ///
    /// # Errors
    ///
    /// [`ServeErrorKind::TooMany`] where other bodies have it.
    pub fn grow(&mut self, bytes: usize) -> Result<(), ServeError> {
        self.size = self.size.saturating_add(bytes);
        if self.size <= SMALL_BODY {
            return Ok(());
        }
        let grown = match &mut self.share {
            Some(share) => share.grow(bytes),
            None => {
                let share = self.room.take(&self.owner, self.size);
                share.map(|share| self.share = Some(share))
            }
        };
        grown.map_err(|exceeded| too_many("bytes of bodies are in memory", exceeded))
    }
}

/// The error of a client that gets no more for the moment.
fn too_many(what: &str, Exceeded { total, own }: Exceeded) -> ServeError {
    let message = format!("{total} {what} already, {own} of this client; come again in a moment");
    ServeError::new(ServeErrorKind::TooMany { retry_after: 1 }, message)
}

/// For how many of the largest bodies there is room.
const BODIES: usize = 8;
/// The size of a body that needs no room.
const SMALL_BODY: usize = 64 << 10;
