//! The registry: how a provider of each kind is made, and which toolboxes a program brings along.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use jackfield_engine::{EngineBuilder, ToolboxStatus};
use jackfield_ports::chat_model::{BoxError, ChatModel};
use jackfield_ports::toolbox::Toolbox;
use jackfield_provider_kit::secret::Secret;
use jackfield_provider_kit::transport::Transport;
use serde_json::Value;

use crate::claude::ClaudeFactory;
use crate::config::Config;
use crate::openai::{OpenAiFactory, PRESETS};
use crate::place::{ConfigProblem, Origin};
use crate::web;

/// Makes providers of one kind.
///
/// A third party adds its own with [`Registry::provider`]; nothing else has to know of it.
pub trait ProviderFactory: Send + Sync {
    /// The environment variable that its key is in, where nothing else is configured; `None` if it
    /// needs no key.
    fn key_variable(&self) -> Option<&str> {
        None
    }

    /// Where a person gets a key.
    fn key_page(&self) -> Option<&str> {
        None
    }

    /// The names of the options that only this kind has.
    fn options(&self) -> &[&str] {
        &[]
    }

    /// Makes a provider. No connection is opened yet, and a key that is not there is no error yet.
    ///
    /// # Errors
    ///
    /// A sentence about what is wrong with the settings; never with a key in it.
    fn build(&self, settings: ProviderSettings) -> Result<Arc<dyn ChatModel>, BoxError>;
}

/// What a provider is made of.
#[derive(Debug)]
#[non_exhaustive]
pub struct ProviderSettings {
    /// The address, if it is not the kind's own.
    pub base_url: Option<Arc<str>>,
    /// The key, if there is one.
    pub key: Option<Secret>,
    /// Why there is no key, in a sentence for whoever asks the provider, if one is needed.
    pub missing_key: Option<String>,
    /// The provider's name in the configuration.
    pub name: Arc<str>,
    /// The options that only this kind has; none but those that the factory names.
    pub options: BTreeMap<Arc<str>, Value>,
    /// What requests are sent through; all providers share it.
    pub transport: Transport,
}

/// Which kinds of providers there are, and which toolboxes beside those that are configured.
#[derive(Clone)]
pub struct Registry {
    pub(crate) discreet: bool,
    pub(crate) guarded: bool,
    pub(crate) providers: BTreeMap<Arc<str>, Arc<dyn ProviderFactory>>,
    pub(crate) toolboxes: Vec<Arc<dyn Toolbox>>,
}

impl Registry {
    /// A registry that knows nothing.
    #[must_use]
    pub const fn empty() -> Self {
        Self {
            discreet: false,
            guarded: false,
            providers: BTreeMap::new(),
            toolboxes: Vec::new(),
        }
    }

    /// Has what is told of a provider's key, an MCP server or a web API that cannot be used say nothing of
    /// variables, files and commands of this machine: for a server, whose clients are somebody else. The log
    /// has the whole of it, and so has what is assembled.
    #[must_use]
    pub const fn redact_host_details(mut self) -> Self {
        self.discreet = true;
        self
    }

    /// Puts a guard before every MCP server, so that nothing of it outlives this process, however that
    /// ends. The guard is this very program, whose `main` begins with [`guard`](crate::guard).
    #[must_use]
    pub const fn guarded(mut self) -> Self {
        self.guarded = true;
        self
    }

    /// Adds a kind of provider, or takes the place of one.
    #[must_use]
    pub fn provider(
        mut self,
        kind: impl Into<Arc<str>>,
        factory: Arc<dyn ProviderFactory>,
    ) -> Self {
        self.providers.insert(kind.into(), factory);
        self
    }

    /// Adds a toolbox of the program's own: its tools stand beside the configured ones, under its id, and
    /// what it says of their safety is believed, as it is the program's own word. What may run is up to the
    /// policy, as ever.
    ///
    /// An id that another toolbox or a configured server has is told when an engine is made.
    #[must_use]
    pub fn toolbox(mut self, toolbox: Arc<dyn Toolbox>) -> Self {
        self.toolboxes.push(toolbox);
        self
    }

    /// Adds the toolboxes of the program's own to an engine; and says whose ids are taken.
    pub(crate) fn join(
        &self,
        config: &Config,
        mut builder: EngineBuilder,
    ) -> (EngineBuilder, Vec<ConfigProblem>) {
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
            let standing = ToolboxStatus {
                prefix: None,
                trusted: true,
            };
            builder = builder.toolbox_as(Arc::clone(toolbox), standing);
        }
        (builder, problems)
    }
}

/// The ids of toolboxes that come with Jackfield.
const OURS: &[&str] = &["builtin", web::FOUND, web::OWN];

impl Default for Registry {
    /// Everything that comes with Jackfield.
    fn default() -> Self {
        PRESETS.iter().fold(
            Self::empty().provider("claude", Arc::new(ClaudeFactory)),
            |registry, preset| registry.provider(preset.kind, Arc::new(OpenAiFactory(preset))),
        )
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry")
            .field("discreet", &self.discreet)
            .field("guarded", &self.guarded)
            .field("providers", &self.providers.keys())
            .field("toolboxes", &self.toolboxes.len())
            .finish()
    }
}
