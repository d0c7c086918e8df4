//! The engine: models, toolboxes and a journal under one roof, and the turns that run on them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::ids::{DeliveryId, SessionId};
use jackfield_domain::listing::ListedModel;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::tool::{CatalogEntry, ToolHints, ToolOrigin};
use jackfield_domain::wait::DeliveryBody;
use jackfield_ports::chat_model::{Capabilities, ChatModel, ModelError};
use jackfield_ports::journal::{DeliveryOutcome, Journal, JournalError};
use jackfield_ports::toolbox::Toolbox;
use serde_json::{Map, Value};

use crate::approver::{Approver, ToolApprover};
use crate::catalog::{self, RegisteredToolbox, ToolOffer, ToolboxStatus};
use crate::clients;
use crate::clock::{Clock, SystemClock};
use crate::delivered_cache::DeliveredCache;
use crate::direct::{DirectCall, DirectOutcome};
use crate::driven_sessions::DrivenSessions;
use crate::ephemeral::{Ephemeral, UndeliveredAnswers};
use crate::error::EngineError;
use crate::in_flight::InFlightRequests;
use crate::late;
use crate::notices::SessionNotices;
use crate::options::TurnOptions;
use crate::queues::Queues;
use crate::shutdown::Shutdown;
use crate::subscribers::Subscribers;
use crate::validate::Validators;
use crate::watch::Feeds;
use crate::writes::WriteHealth;

/// Models, toolboxes and a journal, and the turns that run on them. Cloning shares it.
#[derive(Clone)]
pub struct Engine {
    pub(crate) shared: Arc<EngineState>,
}

pub(crate) struct EngineState {
    /// Results of a session's calls that come at the same time.
    pub(crate) answering: Queues<SessionId>,
    pub(crate) approver: Option<Arc<dyn Approver>>,
    /// The tool that is the approver, which no model may call.
    pub(crate) approving: Option<ToolOrigin>,
    /// Requests of one principal with one idempotency key.
    pub(crate) claimed: Queues<(Arc<str>, Arc<str>)>,
    pub(crate) clock: Arc<dyn Clock>,
    /// Of what callers bring.
    pub(crate) going: Shutdown,
    pub(crate) journal: Arc<dyn Journal>,
    /// How much of what comes late may be on its way.
    pub(crate) late: late::LateLimit,
    pub(crate) listening: Arc<Subscribers>,
    pub(crate) looked: Arc<catalog::CheckedTools>,
    pub(crate) models: Arc<BTreeMap<Arc<str>, Arc<dyn ChatModel>>>,
    /// What this process did that a keeper is to look at.
    pub(crate) noticed: SessionNotices,
    pub(crate) occupied: Arc<DrivenSessions>,
    /// Requests whose turns are about to begin.
    pub(crate) openings: Arc<InFlightRequests>,
    /// When the sessions of the journal are forgotten, if they are.
    pub(crate) passing: Option<Ephemeral>,
    pub(crate) settled: DeliveredCache,
    pub(crate) speeches: Arc<Feeds>,
    pub(crate) toolboxes: Arc<Vec<RegisteredToolbox>>,
    /// Turns in passing that are over and whose answers nobody has.
    pub(crate) unwritten: UndeliveredAnswers,
    pub(crate) validators: Arc<Validators>,
    pub(crate) writes: Arc<WriteHealth>,
}

impl EngineState {
    /// The error of something that could not be written; that the journal failed is remembered.
    pub(crate) fn unwritten(&self, error: JournalError) -> EngineError {
        if matches!(error, JournalError::Unreachable { .. }) {
            self.writes.failed();
        }
        error.into()
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine")
            .field("models", &self.shared.models.keys())
            .finish_non_exhaustive()
    }
}

/// Puts an [`Engine`] together.
#[must_use]
pub struct EngineBuilder {
    approver: Option<FirstApprover>,
    clock: Arc<dyn Clock>,
    journal: Arc<dyn Journal>,
    models: BTreeMap<Arc<str>, Arc<dyn ChatModel>>,
    toolboxes: Vec<RegisteredToolbox>,
}

/// Who is asked before a person is.
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
    /// Adds a model provider under a name of the configuration.
    pub fn model(mut self, provider: impl Into<Arc<str>>, model: Arc<dyn ChatModel>) -> Self {
        self.models.insert(provider.into(), model);
        self
    }

    /// Adds a toolbox whose tools bear its id before their names.
    pub fn toolbox(self, toolbox: Arc<dyn Toolbox>) -> Self {
        self.toolbox_as(toolbox, ToolboxStatus::default())
    }

    /// Adds a toolbox that stands like this among the others. Where two of their tools share a name,
    /// it is that of the toolbox which was added first.
    pub fn toolbox_as(mut self, toolbox: Arc<dyn Toolbox>, standing: ToolboxStatus) -> Self {
        self.toolboxes.push(RegisteredToolbox {
            builtin: false,
            standing,
            toolbox,
        });
        self
    }

    /// Adds a toolbox of ours: bare names, and trusted where nobody can be asked.
    pub fn builtins(mut self, toolbox: Arc<dyn Toolbox>) -> Self {
        self.toolboxes.push(RegisteredToolbox {
            builtin: true,
            standing: ToolboxStatus::default(),
            toolbox,
        });
        self
    }

    /// Asks this one before a person is asked.
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.approver = Some(FirstApprover::Approver(approver));
        self
    }

    /// Asks this tool before a person is asked; it has so long to answer, and is offered to no model.
    pub fn approving_tool(mut self, tool: ToolOrigin, limit: Duration) -> Self {
        self.approver = Some(FirstApprover::Tool(tool, limit));
        self
    }

    /// Keeps facts in this journal instead.
    pub fn journal(mut self, journal: Arc<dyn Journal>) -> Self {
        self.journal = journal;
        self
    }

    /// Tells the time in another way.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// The engine.
    #[must_use]
    pub fn build(self) -> Engine {
        let Self {
            approver,
            clock,
            journal,
            models,
            toolboxes,
        } = self;
        let (approver, approving) = match approver {
            None => (None, None),
            Some(FirstApprover::Approver(approver)) => (Some(approver), None),
            Some(FirstApprover::Tool(tool, limit)) => {
                let found = |known: &&RegisteredToolbox| *known.toolbox.id() == tool.toolbox;
                let toolbox = toolboxes.iter().find(found);
                let approver: Arc<dyn Approver> = Arc::new(ToolApprover {
                    limit,
                    name: format!("{}/{}", tool.toolbox, tool.tool).into(),
                    tool: tool.clone(),
                    toolbox: toolbox.map(|known| Arc::clone(&known.toolbox)),
                });
                (Some(approver), Some(tool))
            }
        };
        Engine {
            shared: Arc::new(EngineState {
                answering: Queues::default(),
                approver,
                approving,
                claimed: Queues::default(),
                clock,
                going: Shutdown::default(),
                journal,
                late: late::LateLimit::default(),
                listening: Arc::default(),
                looked: Arc::default(),
                models: Arc::new(models),
                noticed: SessionNotices::default(),
                occupied: Arc::default(),
                openings: Arc::default(),
                passing: None,
                settled: DeliveredCache::default(),
                speeches: Arc::default(),
                toolboxes: Arc::new(toolboxes),
                unwritten: UndeliveredAnswers::default(),
                validators: Arc::default(),
                writes: Arc::default(),
            }),
        }
    }
}

impl Engine {
    /// An engine on this journal.
    pub fn builder(journal: Arc<dyn Journal>) -> EngineBuilder {
        EngineBuilder {
            approver: None,
            clock: Arc::new(SystemClock::default()),
            journal,
            models: BTreeMap::new(),
            toolboxes: Vec::new(),
        }
    }

    /// An engine of the same models and toolboxes on another journal, of which this one knows nothing.
    #[must_use]
    pub fn on_journal(&self, journal: Arc<dyn Journal>) -> Self {
        self.with(journal, None)
    }

    /// The same, on a journal whose sessions nobody asks for later: each is deleted when its turn is over and
    /// its answer was written, or a while after. Such a journal is one in memory, of this process alone.
    #[must_use]
    pub fn with_ephemeral_journal(&self, journal: Arc<dyn Journal>, passing: Ephemeral) -> Self {
        self.with(journal, Some(passing))
    }

    fn with(&self, journal: Arc<dyn Journal>, passing: Option<Ephemeral>) -> Self {
        let shared = &self.shared;
        Self {
            shared: Arc::new(EngineState {
                answering: Queues::default(),
                approver: shared.approver.clone(),
                approving: shared.approving.clone(),
                claimed: Queues::default(),
                clock: Arc::clone(&shared.clock),
                going: Shutdown::default(),
                journal,
                late: late::LateLimit::default(),
                listening: Arc::default(),
                looked: Arc::clone(&shared.looked),
                models: Arc::clone(&shared.models),
                noticed: SessionNotices::default(),
                occupied: Arc::default(),
                openings: Arc::default(),
                passing,
                settled: DeliveredCache::default(),
                speeches: Arc::default(),
                toolboxes: Arc::clone(&shared.toolboxes),
                unwritten: UndeliveredAnswers::default(),
                validators: Arc::clone(&shared.validators),
                writes: Arc::default(),
            }),
        }
    }

    /// Puts an answer or a cancel into a session's inbox; whoever drives the session consumes it.
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
        let delivered = delivered.map_err(|error| self.shared.unwritten(error))?;
        self.shared.noticed.delivered(session);
        Ok(delivered)
    }

    /// Whose opaque state a provider's model writes and reads; `None` if there is no such provider.
    #[must_use]
    pub fn state_owner(&self, provider: &str, model: &str) -> Option<StateOwner> {
        let asked = self.shared.models.get(provider)?;
        Some(asked.state_owner(model))
    }

    /// What a provider's model can do; `None` if there is no such provider.
    #[must_use]
    pub fn capabilities(&self, provider: &str) -> Option<Capabilities> {
        self.shared
            .models
            .get(provider)
            .map(|model| model.capabilities())
    }

    /// The models that a provider says it has; costs nothing. `None` if there is no such provider.
    ///
    /// # Errors
    ///
    /// [`ModelError`], classified; `Unsupported` where there is no such list.
    pub async fn models(&self, provider: &str) -> Option<Result<Vec<ListedModel>, ModelError>> {
        match self.shared.models.get(provider) {
            Some(model) => Some(model.models().await),
            None => None,
        }
    }

    /// The tools that a turn with these options would be offered, and the toolboxes that failed.
    ///
    /// None for a model that calls no tools.
    pub async fn tools(&self, options: &TurnOptions) -> ToolOffer {
        let takes_tools = self
            .capabilities(&options.model.provider)
            .is_none_or(|can| can.tools);
        let wanted = &options.server_tools;
        let toolboxes = self.shared.toolboxes.iter();
        let toolboxes =
            toolboxes.filter(|registered| takes_tools && wanted.may_be_of(registered.toolbox.id()));
        let toolboxes: Vec<RegisteredToolbox> = toolboxes.cloned().collect();
        let looked = &self.shared.looked;
        let unknown = catalog::UnknownCallPolicy {
            otherwise: options.when_unknown,
            rules: &options.when_unknown_of,
        };
        let is_offered =
            |tool: &ToolOrigin| wanted.offers(tool) && self.shared.approving.as_ref() != Some(tool);
        let policy = &options.policy;
        let mut offered = catalog::gather(&toolboxes, &is_offered, policy, unknown, looked).await;
        if takes_tools && !options.client_tools.is_empty() {
            clients::join(&mut offered.catalog, &options.client_tools);
        }
        offered
    }

    /// Whether somebody is asked before a person is: then a call can be asked about where nobody is there.
    #[must_use]
    pub fn has_approver(&self) -> bool {
        self.shared.approver.is_some()
    }

    /// Runs one tool by its model-facing name, outside any turn. The policy is not asked.
    ///
    /// Lists all tools first, for what stands behind the name now. For many calls, ask for the
    /// [tools](Self::tools) once, and [call what they offer](Self::call_offered).
    ///
    /// # Errors
    ///
    /// [`EngineError::UnknownTool`]; what the call itself came to is its result.
    pub async fn call_tool(
        &self,
        options: &TurnOptions,
        name: &str,
        arguments: Map<String, Value>,
    ) -> Result<ToolResult, EngineError> {
        let offered = self.tools(options).await;
        let Some(tool) = offered.catalog.tool(name) else {
            let known = offered
                .catalog
                .iter()
                .map(|tool| tool.definition.name.to_string());
            return Err(EngineError::UnknownTool {
                known: known.collect(),
                name: name.to_owned(),
            });
        };
        Ok(self
            .call_offered(options, tool, DirectCall::new(arguments))
            .await)
    }

    /// Runs one tool of what [`Engine::tools`] offered, outside any turn. The policy is not asked: what
    /// it decided stands in the tool's permission. Dropping the future aborts the tool.
    pub async fn call_offered(
        &self,
        options: &TurnOptions,
        tool: &CatalogEntry,
        call: DirectCall,
    ) -> ToolResult {
        self.pass_on(options, tool, call).await.result
    }

    /// The same for a caller that passes the outcome on to another program: with its blocks as the tool's server sent
    /// them.
    pub async fn pass_on(
        &self,
        options: &TurnOptions,
        tool: &CatalogEntry,
        call: DirectCall,
    ) -> DirectOutcome {
        crate::perform::call_once(&self.shared, tool, call, &options.limits).await
    }

    /// The hints of tools in the last lists of their servers, to pass on to other programs.
    #[must_use]
    pub fn hints(&self) -> BTreeMap<ToolOrigin, ToolHints> {
        let toolboxes = self.shared.toolboxes.iter();
        let hints = toolboxes.flat_map(|registered| {
            let toolbox = registered.toolbox.id();
            let hints = registered.toolbox.hints().into_iter();
            hints.map(|(tool, hints)| {
                let toolbox = toolbox.clone();
                (ToolOrigin { tool, toolbox }, hints)
            })
        });
        hints.collect()
    }

    pub(crate) fn model(&self, provider: &Arc<str>) -> Result<&Arc<dyn ChatModel>, EngineError> {
        self.shared
            .models
            .get(provider)
            .ok_or_else(|| EngineError::UnknownProvider {
                known: self.shared.models.keys().map(ToString::to_string).collect(),
                name: Arc::clone(provider),
            })
    }
}
