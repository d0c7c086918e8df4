//! The state of an engine, which everything that drives turns shares.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use jackfield_domain::caller::Caller;
use jackfield_domain::ids::SessionId;
use jackfield_domain::time::WallTime;
use jackfield_domain::tool::ToolOrigin;
use jackfield_ports::chat_model::ChatModel;
use jackfield_ports::journal::JournalError;
use jackfield_ports::mcp_observer::McpObservers;
use jackfield_ports::toolbox_source::{ToolboxSet, ToolboxSource};

use crate::approver::Approver;
use crate::catalog;
use crate::clock::Clock;
use crate::delivered_cache::DeliveredCache;
use crate::driven_sessions::DrivenSessions;
use crate::ephemeral::{Ephemeral, UndeliveredAnswers};
use crate::error::EngineError;
use crate::feeds::Feeds;
use crate::journals::Journals;
use crate::late_limit::LateLimit;
use crate::listed_windows::ListedWindows;
use crate::master_keys::MasterKeys;
use crate::notices::SessionNotices;
use crate::own_servers::OwnServers;
use crate::queues::Queues;
use crate::route_table::RouteTable;
use crate::shutdown::Shutdown;
use crate::subscribers::Subscribers;
use crate::tool_cache::ToolCache;
use crate::toolboxes;
use crate::turn_observer::TurnObserver;
use crate::validate::Validators;
use crate::writes::WriteHealth;

/// Models, toolboxes and a journal, and the turns that run on them. Clones share all of it.
#[derive(Clone)]
pub struct Engine {
    pub(crate) shared: Arc<EngineState>,
}

/// What an engine is made of, and what is under way on it.
pub(crate) struct EngineState {
    setup: EngineSetup,
    /// Serialises the client tool results of a session.
    pub(crate) result_queues: Queues<SessionId>,
    /// Tracks the turns in flight, for shutdown.
    pub(crate) shutdown: Shutdown,
    /// Limits the late outcomes in flight.
    pub(crate) late_limit: LateLimit,
    pub(crate) subscribers: Arc<Subscribers>,
    /// Notices for keepers.
    pub(crate) notices: SessionNotices,
    pub(crate) driven_sessions: Arc<DrivenSessions>,
    pub(crate) delivered: DeliveredCache,
    pub(crate) feeds: Arc<Feeds>,
    /// Finished turns of ephemeral sessions whose answers are undelivered.
    pub(crate) undelivered: UndeliveredAnswers,
    pub(crate) write_health: Arc<WriteHealth>,
    /// Locked while the journal is probed.
    pub(crate) probing: tokio::sync::Mutex<()>,
}

/// What an engine is made of.
#[derive(Clone)]
pub(crate) struct EngineSetup {
    pub(crate) approver: Option<Arc<dyn Approver>>,
    /// The tool that acts as the approver; models may not call it.
    pub(crate) approver_tool: Option<ToolOrigin>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) journal: Arc<Journals>,
    pub(crate) checked_tools: Arc<catalog::CheckedTools>,
    /// The context windows that providers list.
    pub(crate) listed_windows: Arc<ListedWindows>,
    pub(crate) models: Arc<BTreeMap<Arc<str>, Arc<dyn ChatModel>>>,
    /// The keys under which secrets are encrypted.
    pub(crate) master_keys: Option<MasterKeys>,
    /// The servers of users and teams.
    pub(crate) own_servers: Option<Arc<OwnServers>>,
    /// The routes, and the health of their targets.
    pub(crate) routes: Arc<RouteTable>,
    /// When ephemeral sessions are deleted.
    pub(crate) ephemeral: Ephemeral,
    pub(crate) tool_cache: Arc<ToolCache>,
    pub(crate) toolbox_sources: Arc<Vec<Arc<dyn ToolboxSource>>>,
    pub(crate) turn_observers: Arc<Vec<Arc<dyn TurnObserver>>>,
    pub(crate) mcp_observers: McpObservers,
    pub(crate) validators: Arc<Validators>,
}

impl Deref for EngineState {
    type Target = EngineSetup;

    fn deref(&self) -> &EngineSetup {
        &self.setup
    }
}

impl EngineState {
    /// The state of an engine on which nothing is under way.
    pub(crate) fn new(setup: EngineSetup) -> Self {
        Self {
            setup,
            result_queues: Queues::default(),
            shutdown: Shutdown::default(),
            late_limit: LateLimit::default(),
            subscribers: Arc::default(),
            notices: SessionNotices::default(),
            driven_sessions: Arc::default(),
            delivered: DeliveredCache::default(),
            feeds: Arc::default(),
            undelivered: UndeliveredAnswers::default(),
            write_health: Arc::default(),
            probing: tokio::sync::Mutex::default(),
        }
    }

    /// The toolboxes of a client's principal, from all sources, and of its own servers.
    pub(crate) async fn toolboxes_of(&self, client: Option<&Caller>) -> Arc<ToolboxSet> {
        let mut all = toolboxes::of_client(&self.toolbox_sources, client).await;
        if self.own_servers.is_some() {
            toolboxes::extend(&mut all, self.own_toolboxes(client)).await;
        }
        Arc::new(all)
    }

    /// Whether an observer exports traces.
    pub(crate) fn exports_traces(&self) -> bool {
        self.turn_observers.iter().any(|one| one.exports_traces())
    }

    /// Converts a write error, and records a journal failure in the write health.
    pub(crate) fn write_error(&self, error: JournalError) -> EngineError {
        if matches!(error, JournalError::Unreachable { .. }) {
            self.write_health.record_failure();
        }
        error.into()
    }
}

impl Engine {
    /// The time by which deadlines, meters and retention are judged.
    #[must_use]
    pub fn now(&self) -> WallTime {
        self.shared.clock.now().wall
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine")
            .field("models", &self.shared.models.keys())
            .finish_non_exhaustive()
    }
}

impl Engine {
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
