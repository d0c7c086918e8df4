//! The registry of provider kinds, of journal kinds, and of a program's own toolboxes.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use jackfield_domain::ids::ToolboxId;
use jackfield_engine::{EngineBuilder, ToolboxStatus};
use jackfield_ports::mcp_observer::McpObservers;
use jackfield_ports::toolbox::Toolbox;
use jackfield_ports::toolbox_source::ToolboxSource;

#[cfg(feature = "bedrock")]
use crate::bedrock::BedrockFactory;
#[cfg(feature = "claude")]
use crate::claude::{CLAUDE_PRESETS, ClaudeFactory};
#[cfg(feature = "claude-code")]
use crate::claude_code::ClaudeCodeFactory;
use crate::config::Config;
use crate::factory::{JournalFactory, ProviderFactory};
#[cfg(feature = "gemini")]
use crate::gemini::{GeminiFactory, VERTEX, VertexFactory};
use crate::kinds;
#[cfg(feature = "ollama")]
use crate::ollama::OllamaFactory;
#[cfg(feature = "openai")]
use crate::openai::OpenAiFactory;
use crate::place::{ConfigProblem, Origin};
use crate::presets::{PRESETS, Preset};
use crate::web;

/// The kinds of providers and journals, and the toolboxes beside the configured ones.
#[derive(Clone)]
pub struct Registry {
    pub(crate) redact_details: bool,
    pub(crate) guarded: bool,
    pub(crate) journals: BTreeMap<Arc<str>, Arc<dyn JournalFactory>>,
    pub(crate) mcp_observers: Option<McpObservers>,
    pub(crate) providers: BTreeMap<Arc<str>, Arc<dyn ProviderFactory>>,
    pub(crate) sources: Vec<Arc<dyn ToolboxSource>>,
    pub(crate) toolboxes: Vec<Arc<dyn Toolbox>>,
}

impl Registry {
    /// An empty registry.
    #[must_use]
    pub const fn empty() -> Self {
        Self {
            redact_details: false,
            guarded: false,
            journals: BTreeMap::new(),
            mcp_observers: None,
            providers: BTreeMap::new(),
            sources: Vec::new(),
            toolboxes: Vec::new(),
        }
    }

    /// Redacts local paths, variables and commands from errors shown to remote clients: about missing keys, MCP
    /// servers and web APIs. The log and the [`Assembly`](crate::Assembly) keep the details.
    #[must_use]
    pub const fn redact_host_details(mut self) -> Self {
        self.redact_details = true;
        self
    }

    /// Runs every MCP server and every other program under a guard process, so that no part of it outlives this process, however this
    /// process ends. The guard is this same program, whose `main` must begin with [`guard`](crate::guard).
    #[must_use]
    pub const fn guarded(mut self) -> Self {
        self.guarded = true;
        self
    }

    /// Sets the observers of requests to MCP servers, and of those of MCP clients.
    #[must_use]
    pub fn mcp_observers(mut self, observers: McpObservers) -> Self {
        self.mcp_observers = Some(observers);
        self
    }

    /// Adds a kind of provider, or replaces one.
    #[must_use]
    pub fn provider(
        mut self,
        kind: impl Into<Arc<str>>,
        factory: Arc<dyn ProviderFactory>,
    ) -> Self {
        self.providers.insert(kind.into(), factory);
        self
    }

    /// Whether there is this kind of provider.
    #[must_use]
    pub fn has_provider(&self, kind: &str) -> bool {
        self.providers.contains_key(kind)
    }

    /// Adds a kind of journal, or replaces one. `[journal] kind = "..."` selects it. The kinds `memory` and `sqlite`
    /// are built in, and cannot be replaced.
    #[must_use]
    pub fn journal(mut self, kind: impl Into<Arc<str>>, factory: Arc<dyn JournalFactory>) -> Self {
        self.journals.insert(kind.into(), factory);
        self
    }

    /// Adds a toolbox of the program's own. Its tools are offered beside the configured ones, under its id. Its
    /// safety hints are trusted, as they come from the program itself. The policy applies as usual.
    ///
    /// If another toolbox or a configured server has the same id, building the engine fails.
    #[must_use]
    pub fn toolbox(mut self, toolbox: Arc<dyn Toolbox>) -> Self {
        self.toolboxes.push(toolbox);
        self
    }

    /// Adds a source of toolboxes that depend on the principal, such as the servers of each user. They come after all
    /// other toolboxes. A toolbox with the id of another one is skipped, and reported as a problem of the turn.
    #[must_use]
    pub fn toolbox_source(mut self, source: Arc<dyn ToolboxSource>) -> Self {
        self.sources.push(source);
        self
    }

    /// Whether there is a configured server or a toolbox of the program's own with this id.
    pub(crate) fn has_toolbox(&self, config: &Config, id: &ToolboxId) -> bool {
        config.servers.contains_key(id) || self.toolboxes.iter().any(|toolbox| toolbox.id() == id)
    }

    /// The problems of a changed configuration whose servers are to replace those of a running program.
    pub(crate) fn server_problems(&self, config: &Config) -> Vec<ConfigProblem> {
        let mut problems = self.conflicting_ids(config);
        let tools = config.approvals.tool.iter();
        for (tool, place) in tools {
            let known = tool
                .split_once('/')
                .and_then(|(id, _)| ToolboxId::parse(id).ok());
            if !known.is_some_and(|id| self.has_toolbox(config, &id)) {
                let message = format!(
                    "there is no server with the tool `{tool}`, which decides on approvals"
                );
                problems.push(ConfigProblem::new(place.clone(), message));
            }
        }
        problems
    }

    /// Adds the program's own toolboxes to an engine, and reports conflicting ids.
    pub(crate) fn join(
        &self,
        config: &Config,
        mut builder: EngineBuilder,
    ) -> (EngineBuilder, Vec<ConfigProblem>) {
        for toolbox in &self.toolboxes {
            let status = ToolboxStatus {
                prefix: None,
                server: None,
                trusted: true,
            };
            builder = builder.toolbox_as(Arc::clone(toolbox), status);
        }
        (builder, self.conflicting_ids(config))
    }

    /// The problems of toolboxes and servers that share an id.
    fn conflicting_ids(&self, config: &Config) -> Vec<ConfigProblem> {
        let mut problems = Vec::new();
        for (nth, toolbox) in self.toolboxes.iter().enumerate() {
            let id = toolbox.id();
            let before = self.toolboxes.iter().take(nth);
            if OURS.contains(&id.as_str()) || before.map(|one| one.id()).any(|other| other == id) {
                let message = format!("this program has two toolboxes of the id `{id}`");
                let problem = ConfigProblem::new(Origin::Default.into(), message);
                problems.push(problem.with_help("have the program give one of them another id"));
            }
            if let Some(server) = config.servers.values().find(|server| server.id == *id) {
                let message = format!("`{id}` is a toolbox of this program already");
                let problem = ConfigProblem::new(server.place.clone(), message);
                problems.push(problem.with_help("give the server another id"));
            }
        }
        problems
    }
}

/// The ids of built-in toolboxes.
const OURS: &[&str] = &["builtin", web::FOUND, web::OWN];

impl Default for Registry {
    /// The registry with everything that this program was built with.
    fn default() -> Self {
        let kinds = built_in().into_iter();
        kinds.fold(Self::empty(), |registry, (kind, factory)| {
            // Without its feature, a kind would be as unknown as one that there is not.
            debug_assert!(matches!(kinds::feature(kind), Some((_, true))), "{kind}");
            registry.provider(kind, factory)
        })
    }
}

/// The kinds that this build has, with their factories.
fn built_in() -> Vec<(&'static str, Arc<dyn ProviderFactory>)> {
    let mut kinds: Vec<(&'static str, Arc<dyn ProviderFactory>)> = Vec::new();
    #[cfg(feature = "claude")]
    for preset in CLAUDE_PRESETS {
        kinds.push((preset.kind, Arc::new(ClaudeFactory(preset))));
    }
    #[cfg(feature = "claude-code")]
    kinds.push(("claude-code", Arc::new(ClaudeCodeFactory)));
    #[cfg(feature = "gemini")]
    kinds.extend([
        (
            "gemini",
            Arc::new(GeminiFactory) as Arc<dyn ProviderFactory>,
        ),
        (VERTEX, Arc::new(VertexFactory)),
    ]);
    for preset in PRESETS {
        if let Some(factory) = of_preset(preset) {
            kinds.push((preset.kind, factory));
        }
    }
    kinds
}

/// The factory of such servers; `None` if this build leaves them out.
fn of_preset(preset: &'static Preset) -> Option<Arc<dyn ProviderFactory>> {
    match preset.kind {
        #[cfg(feature = "bedrock")]
        crate::presets::BEDROCK => Some(Arc::new(BedrockFactory(OpenAiFactory(preset)))),
        #[cfg(feature = "ollama")]
        crate::presets::OLLAMA => Some(Arc::new(OllamaFactory(OpenAiFactory(preset)))),
        #[cfg(feature = "openai")]
        kind if kinds::left_out(kind).is_none() => Some(Arc::new(OpenAiFactory(preset))),
        _ => None,
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry")
            .field("discreet", &self.redact_details)
            .field("guarded", &self.guarded)
            .field("journals", &self.journals.keys())
            .field("providers", &self.providers.keys())
            .field("sources", &self.sources.len())
            .field("toolboxes", &self.toolboxes.len())
            .finish()
    }
}
