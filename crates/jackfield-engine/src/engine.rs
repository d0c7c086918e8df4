//! The engine: models, toolboxes and a journal, and the turns that run on them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::ids::{DeliveryId, SessionId};
use jackfield_domain::listing::ListedModel;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::routing::Route;
use jackfield_domain::tool::{Catalog, CatalogEntry, ToolHints, ToolOrigin};
use jackfield_domain::wait::DeliveryBody;
use jackfield_ports::chat_model::{Capabilities, ChatModel, ModelError};
use jackfield_ports::journal::{DeliveryOutcome, Journal};
use jackfield_ports::mcp_observer::McpObservers;
use jackfield_ports::toolbox::Toolbox;
use jackfield_ports::toolbox_source::{
    FixedToolboxes, RegisteredToolbox, ToolboxSet, ToolboxSource, ToolboxStatus,
};

use crate::approver::{Approver, ToolApprover};
use crate::catalog::{self, ToolOffer};
use crate::clients;
use crate::clock::{Clock, JournalClock, SystemClock};
use crate::ephemeral::Ephemeral;
use crate::error::EngineError;
use crate::journals::Journals;
use crate::master_keys::MasterKeys;
use crate::options::{ServerTools, TurnOptions};
use crate::own_servers::{OwnServerFactory, OwnServers};
use crate::route_table::RouteTable;
use crate::state::{Engine, EngineSetup, EngineState};
use crate::tool_cache::{ToolCache, ToolCacheSettings};
use crate::toolboxes;
use crate::turn_observer::TurnObserver;

/// Builds an [`Engine`].
#[must_use]
pub struct EngineBuilder {
    approver: Option<FirstApprover>,
    clock: Arc<dyn Clock>,
    journal: Arc<dyn Journal>,
    master_keys: Option<MasterKeys>,
    models: BTreeMap<Arc<str>, Arc<dyn ChatModel>>,
    own_servers: Option<Arc<dyn OwnServerFactory>>,
    routes: RouteTable,
    sources: Vec<Arc<dyn ToolboxSource>>,
    tool_cache: ToolCacheSettings,
    toolboxes: Vec<RegisteredToolbox>,
    turn_observers: Vec<Arc<dyn TurnObserver>>,
    mcp_observers: McpObservers,
}

/// The approver that decides before a person does.
enum FirstApprover {
    Approver(Arc<dyn Approver>),
    Tool(ToolOrigin, Duration),
}

impl fmt::Debug for EngineBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EngineBuilder")
            .field("models", &self.models.keys())
            .finish_non_exhaustive()
    }
}

impl EngineBuilder {
    /// Adds a model provider under its configured name.
    pub fn model(mut self, provider: impl Into<Arc<str>>, model: Arc<dyn ChatModel>) -> Self {
        self.models.insert(provider.into(), model);
        self
    }

    /// Adds a route, which [`TurnOptions::route`] names. The providers of its targets have to be there.
    pub fn route(mut self, route: Route) -> Self {
        self.routes.add(route);
        self
    }

    /// Adds a toolbox; its tools' names are prefixed with the toolbox id.
    pub fn toolbox(self, toolbox: Arc<dyn Toolbox>) -> Self {
        self.toolbox_as(toolbox, ToolboxStatus::default())
    }

    /// Adds a toolbox with this prefix and trust. If two tools share a name, the tool of the toolbox that was
    /// added first is used.
    pub fn toolbox_as(mut self, toolbox: Arc<dyn Toolbox>, status: ToolboxStatus) -> Self {
        self.toolboxes.push(RegisteredToolbox { status, toolbox });
        self
    }

    /// Adds a built-in toolbox: its tools have bare names, and are trusted in non-interactive turns.
    pub fn builtins(self, toolbox: Arc<dyn Toolbox>) -> Self {
        let status = ToolboxStatus {
            prefix: Some("".into()),
            server: None,
            trusted: true,
        };
        self.toolbox_as(toolbox, status)
    }

    /// Adds a source of toolboxes, which can depend on the principal. The toolboxes that were added to the builder
    /// come first, then those of the sources, in the order in which they were added.
    pub fn toolbox_source(mut self, source: Arc<dyn ToolboxSource>) -> Self {
        self.sources.push(source);
        self
    }

    /// Keeps results of tools for equal calls of the same principal. By default, no result is kept.
    pub fn tool_cache(mut self, settings: ToolCacheSettings) -> Self {
        self.tool_cache = settings;
        self
    }

    /// Sets the approver that decides before a person is asked.
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.approver = Some(FirstApprover::Approver(approver));
        self
    }

    /// Makes this tool the approver, with a time limit. It is not offered to models.
    pub fn approving_tool(mut self, tool: ToolOrigin, limit: Duration) -> Self {
        self.approver = Some(FirstApprover::Tool(tool, limit));
        self
    }

    /// Replaces the journal.
    pub fn journal(mut self, journal: Arc<dyn Journal>) -> Self {
        self.journal = journal;
        self
    }

    /// Sets the keys under which secrets are encrypted. Without them, there are no secrets.
    pub fn master_keys(mut self, keys: Option<MasterKeys>) -> Self {
        self.master_keys = keys;
        self
    }

    /// Offers users and teams of the directory the tools of servers of their own, which this makes.
    pub fn own_servers(mut self, factory: Arc<dyn OwnServerFactory>) -> Self {
        self.own_servers = Some(factory);
        self
    }

    /// Replaces the clock. The wall time is that of the journal, if [that has one](Journal::now).
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Adds an observer of ended turns and stored spending records.
    pub fn turn_observer(mut self, observer: Arc<dyn TurnObserver>) -> Self {
        self.turn_observers.push(observer);
        self
    }

    /// Sets the observers of requests that MCP clients make, for the servers that serve this engine's tools.
    pub fn mcp_observers(mut self, observers: McpObservers) -> Self {
        self.mcp_observers = observers;
        self
    }

    /// Builds the engine.
    #[must_use]
    pub fn build(self) -> Engine {
        let Self {
            approver,
            clock,
            journal,
            master_keys,
            models,
            own_servers,
            routes,
            sources,
            tool_cache,
            toolboxes,
            turn_observers,
            mcp_observers,
        } = self;
        let clock = Arc::new(JournalClock {
            journal: Arc::clone(&journal),
            machine: clock,
        });
        let fixed: Arc<dyn ToolboxSource> = Arc::new(FixedToolboxes::new(toolboxes));
        let sources: Arc<Vec<_>> = Arc::new([fixed].into_iter().chain(sources).collect());
        let (approver, approver_tool) = match approver {
            None => (None, None),
            Some(FirstApprover::Approver(approver)) => (Some(approver), None),
            Some(FirstApprover::Tool(tool, limit)) => {
                let approver: Arc<dyn Approver> = Arc::new(ToolApprover {
                    limit,
                    name: format!("{}/{}", tool.toolbox, tool.tool).into(),
                    sources: Arc::clone(&sources),
                    tool: tool.clone(),
                });
                (Some(approver), Some(tool))
            }
        };
        Engine {
            shared: Arc::new(EngineState::new(EngineSetup {
                approver,
                approver_tool,
                clock,
                journal: Arc::new(Journals::new(journal, None)),
                checked_tools: Arc::default(),
                listed_windows: Arc::default(),
                master_keys,
                models: Arc::new(models),
                own_servers: own_servers.map(|factory| Arc::new(OwnServers::new(factory))),
                routes: Arc::new(routes),
                ephemeral: Ephemeral::default(),
                tool_cache: Arc::new(ToolCache::new(tool_cache)),
                toolbox_sources: sources,
                turn_observers: Arc::new(turn_observers),
                mcp_observers,
                validators: Arc::default(),
            })),
        }
    }
}

impl Engine {
    /// A builder for an engine on this journal.
    pub fn builder(journal: Arc<dyn Journal>) -> EngineBuilder {
        EngineBuilder {
            approver: None,
            clock: Arc::new(SystemClock::default()),
            journal,
            master_keys: None,
            models: BTreeMap::new(),
            own_servers: None,
            routes: RouteTable::default(),
            sources: Vec::new(),
            tool_cache: ToolCacheSettings::default(),
            toolboxes: Vec::new(),
            turn_observers: Vec::new(),
            mcp_observers: McpObservers::default(),
        }
    }

    /// This engine, with one model more; a model of this name that it has stays. Call it before the first turn: turns in
    /// flight stay with the engine as it was.
    #[must_use]
    pub fn with_model(&self, provider: &str, model: Arc<dyn ChatModel>) -> Self {
        let shared = &self.shared;
        let mut models = BTreeMap::clone(&shared.models);
        models.entry(provider.into()).or_insert(model);
        self.with_parts(
            Arc::clone(&shared.journal),
            Arc::new(models),
            shared.ephemeral,
        )
    }

    /// This engine, with a journal for [ephemeral](Self::create_ephemeral) sessions, each of which is deleted when its
    /// turn is over and its answer was written, or after [`Ephemeral::retain_for`]. The journal must be in memory
    /// and used by this engine only. Call it before the first turn: turns in flight stay with the engine as it was.
    #[must_use]
    pub fn with_ephemeral_journal(&self, memory: Arc<dyn Journal>, ephemeral: Ephemeral) -> Self {
        let durable = Arc::clone(self.shared.journal.durable());
        let journal = Arc::new(Journals::new(durable, Some(memory)));
        self.with_parts(journal, Arc::clone(&self.shared.models), ephemeral)
    }

    fn with_parts(
        &self,
        journal: Arc<Journals>,
        models: Arc<BTreeMap<Arc<str>, Arc<dyn ChatModel>>>,
        ephemeral: Ephemeral,
    ) -> Self {
        Self {
            shared: Arc::new(EngineState::new(EngineSetup {
                ephemeral,
                journal,
                models,
                ..EngineSetup::clone(&self.shared)
            })),
        }
    }

    /// The observers of requests that MCP clients make.
    #[must_use]
    pub fn mcp_observers(&self) -> &McpObservers {
        &self.shared.mcp_observers
    }

    /// Puts an answer or a cancel into a session's inbox. The session's driver consumes it.
    ///
    /// # Errors
    ///
    /// [`EngineError::Journal`] if there is no such session, or the journal cannot be reached.
    pub async fn deliver(
        &self,
        session: &SessionId,
        id: DeliveryId,
        by: impl Into<Arc<str>> + Send,
        body: DeliveryBody,
    ) -> Result<DeliveryOutcome, EngineError> {
        let delivered = self.shared.journal.deliver(session, id, by.into(), body);
        let delivered = delivered.await;
        let delivered = delivered.map_err(|error| self.shared.write_error(error))?;
        self.shared.notices.notify_delivered(session);
        Ok(delivered)
    }

    /// The owner of the opaque state that a provider's model reads and writes; `None` if there is no such
    /// provider.
    #[must_use]
    pub fn state_owner(&self, provider: &str, model: &str) -> Option<StateOwner> {
        let model_adapter = self.shared.models.get(provider)?;
        Some(model_adapter.state_owner(model))
    }

    /// The capabilities of a provider; `None` if there is no such provider.
    #[must_use]
    pub fn capabilities(&self, provider: &str) -> Option<Capabilities> {
        self.shared
            .models
            .get(provider)
            .map(|model| model.capabilities())
    }

    /// The models that a provider lists. The listing is free of charge. `None` if there is no such provider.
    ///
    /// # Errors
    ///
    /// [`ModelError`], classified; `Unsupported` if the provider has no such list.
    pub async fn models(&self, provider: &str) -> Option<Result<Vec<ListedModel>, ModelError>> {
        match self.shared.models.get(provider) {
            Some(model) => Some(model.models().await),
            None => None,
        }
    }

    /// The tools that a turn with these options would offer, and the toolboxes that failed.
    ///
    /// Empty for a model that cannot call tools.
    pub async fn tools(&self, options: &TurnOptions) -> ToolOffer {
        let toolboxes = self.toolboxes(options).await;
        self.offer(options, &toolboxes).await
    }

    /// Waits until a source of toolboxes says that it has other ones. Cancel-safe.
    pub async fn toolboxes_changed(&self) {
        toolboxes::changed(&self.shared.toolbox_sources).await;
    }

    /// The toolboxes of a turn with these options; no source is asked if the turn has no server tools.
    pub(crate) async fn toolboxes(&self, options: &TurnOptions) -> Arc<ToolboxSet> {
        if options.server_tools == ServerTools::None || !self.takes_tools(options) {
            return Arc::default();
        }
        self.shared.toolboxes_of(options.caller.as_deref()).await
    }

    /// The tools that a turn with these options and toolboxes offers.
    pub(crate) async fn offer(&self, options: &TurnOptions, toolboxes: &ToolboxSet) -> ToolOffer {
        let server_tools = &options.server_tools;
        let asked = toolboxes.toolboxes.iter();
        let asked = asked.filter(|registered| server_tools.may_offer_from(registered.toolbox.id()));
        let asked: Vec<RegisteredToolbox> = asked.cloned().collect();
        let checked_tools = &self.shared.checked_tools;
        let unknown = catalog::UnknownCallPolicy {
            otherwise: options.when_unknown,
            rules: &options.unknown_rules,
        };
        let is_offered = |tool: &ToolOrigin| {
            server_tools.offers(tool) && self.shared.approver_tool.as_ref() != Some(tool)
        };
        let policy = &options.policy;
        let mut offered =
            catalog::build_offer(&asked, &is_offered, policy, unknown, checked_tools).await;
        let mut problems = toolboxes.problems.clone();
        problems.append(&mut offered.problems);
        offered.problems = problems;
        if self.takes_tools(options) && !options.client_tools.is_empty() {
            clients::add_client_tools(&mut offered.catalog, &options.client_tools);
        }
        offered
    }

    /// Adds the tools that providers of the turn run themselves, and ask about.
    pub(crate) fn add_own_tools(
        &self,
        options: &TurnOptions,
        providers: &BTreeSet<Arc<str>>,
        catalog: &mut Catalog,
    ) {
        let mut entries: Vec<CatalogEntry> = Vec::new();
        for provider in providers {
            let model = self.shared.models.get(provider);
            let mut tools = model.map_or_else(Vec::new, |model| model.own_tools());
            if *provider == options.model.provider {
                tools.extend(options.own_tools.iter().cloned());
            }
            let own = tools.into_iter();
            entries.extend(own.filter_map(|tool| catalog::own_tool(provider, tool, options)));
        }
        if !entries.is_empty() {
            let others = catalog.iter().cloned();
            *catalog = others.chain(entries).collect();
        }
    }

    /// Whether a model that may answer a turn with these options runs tools itself, and asks about them.
    #[must_use]
    pub fn has_own_tools(&self, options: &TurnOptions) -> bool {
        // The turn of an unknown route does not begin.
        let route = self.route_of(options).ok().flatten();
        let mut targets = options.targets(route.as_deref());
        targets.any(|target| {
            let model = self.shared.models.get(&target.provider);
            model.is_some_and(|model| !model.own_tools().is_empty())
        })
    }

    fn takes_tools(&self, options: &TurnOptions) -> bool {
        if let Ok(Some(route)) = self.route_of(options) {
            return route.targets.iter().any(|target| target.abilities.tools);
        }
        self.capabilities(&options.model.provider)
            .is_none_or(|can| can.tools)
    }

    /// Whether there is an approver. With one, approvals are possible even in non-interactive turns.
    #[must_use]
    pub fn has_approver(&self) -> bool {
        self.shared.approver.is_some()
    }

    /// The hints of all tools of these options' client, from the last lists of their servers, for forwarding to other
    /// programs.
    pub async fn hints(&self, options: &TurnOptions) -> BTreeMap<ToolOrigin, ToolHints> {
        let toolboxes = self.shared.toolboxes_of(options.caller.as_deref()).await;
        let hints = toolboxes.toolboxes.iter().flat_map(|registered| {
            let toolbox = registered.toolbox.id();
            let hints = registered.toolbox.hints().into_iter();
            hints.map(|(tool, hints)| {
                let toolbox = toolbox.clone();
                (ToolOrigin { tool, toolbox }, hints)
            })
        });
        hints.collect()
    }
}
