//! Assembles an engine from a configuration and a registry.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jackfield_domain::request::ModelRef;
use jackfield_engine::{Engine, EngineBuilder, TurnOptions};
use jackfield_ports::chat_model::ChatModel;
use jackfield_ports::toolbox_source::FixedToolboxes;
use jackfield_provider_kit::refused_fields::RefusedFields;
use jackfield_provider_kit::secret::Secret;
use jackfield_provider_kit::text_tools::TextTools;
use jackfield_provider_kit::transport::Transport;
use jackfield_store_memory::MemoryJournal;
use jackfield_tools_builtin::Builtins;

use self::switch::switch;
use crate::assistants::ConfiguredAssistant;
use crate::config::{Config, ProviderConfig, ProviderPassthrough};
use crate::endpoints;
use crate::factory::{ProviderFactory, ProviderSettings};
use crate::features;
use crate::kinds;
use crate::own_servers::OwnServerToolboxes;
use crate::place::{ConfigError, ConfigProblem, Origin};
use crate::preferred::is_vendor;
use crate::provider_state::{KeyState, MissingKey, ProviderState, ProviderUpstream};
use crate::registry::Registry;
use crate::servers::{CommonSettings, ServerSet, guard_program};
use crate::surroundings::Environment;
use crate::tool_modes;
use jackfield_engine::near::did_you_mean;
use jackfield_ports::identity_provider::IdentityProvider;

mod collector;
mod find_key;
mod network;
mod prepared;
mod switch;
#[cfg_attr(not(feature = "web"), path = "assemble/without_web.rs")]
mod web;

pub use self::collector::OtlpCollector;
use self::find_key::find_key;

/// An engine with the default options of its turns.
#[derive(Debug)]
#[non_exhaustive]
pub struct Assembly {
    /// The dialect of each provider.
    dialects: BTreeMap<Arc<str>, Arc<str>>,
    /// The engine.
    pub engine: Engine,
    /// The providers whose key was found.
    pub keys_found: BTreeSet<Arc<str>>,
    /// The providers without the key that they need. A request to one fails with the reason.
    pub missing_keys: BTreeMap<Arc<str>, MissingKey>,
    /// The default options of turns.
    pub options: TurnOptions,
    /// The providers, by name.
    pub providers: BTreeMap<Arc<str>, ProviderState>,
    /// The MCP servers, including disabled ones. The first use of a server starts it;
    /// [`ServerToolbox::stop`](crate::ServerToolbox::stop) ends it.
    pub servers: ServerSet,
    /// The upstreams of the providers that have one, by provider name.
    pub upstreams: BTreeMap<Arc<str>, ProviderUpstream>,
}

/// The parts of an [`Assembly`] without the journal.
#[derive(Debug)]
#[non_exhaustive]
pub struct Prepared {
    builder: EngineBuilder,
    dialects: BTreeMap<Arc<str>, Arc<str>>,
    keys_found: BTreeSet<Arc<str>>,
    missing_keys: BTreeMap<Arc<str>, MissingKey>,
    options: TurnOptions,
    providers: BTreeMap<Arc<str>, ProviderState>,
    servers: ServerSet,
    upstreams: BTreeMap<Arc<str>, ProviderUpstream>,
}

impl Assembly {
    /// Switches later turns to this model, or to a route with this model's options, with the configured extensions of
    /// its dialect. Other options stay as they are.
    pub fn switch(&mut self, config: &Config, model: ModelRef, route: Option<Arc<str>>) {
        self.options.route = route;
        let always = &config.options.settings.extensions;
        switch(
            &mut self.options,
            &self.dialects,
            (always, &config.extensions),
            model,
        );
    }

    /// The options of an assistant's turns, under the policy of other turns.
    #[must_use]
    pub fn options_of(&self, assistant: &ConfiguredAssistant) -> TurnOptions {
        let mut options = assistant.options.clone();
        options.policy = self.options.policy.clone();
        options.prices = Arc::clone(&self.options.prices);
        options.windows = Arc::clone(&self.options.windows);
        let (always, model) = (options.settings.extensions.clone(), options.model.clone());
        switch(
            &mut options,
            &self.dialects,
            (&always, &assistant.extensions),
            model,
        );
        options
    }
}

impl Config {
    /// The provider at which people sign in to the page, if one is configured. It is asked when a person signs in. Blocks
    /// on the disk.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] if the secret cannot be read, the address cannot be used, or this build leaves out the feature
    /// `oidc`.
    pub fn identity_provider(
        &self,
        environment: &Environment,
    ) -> Result<Option<Arc<dyn IdentityProvider>>, ConfigError> {
        let oidc = self.serve.oidc.as_ref();
        let provider = oidc.map(|oidc| oidc.provider(network::guarded(self), environment));
        Ok(provider.transpose()?)
    }
}

impl Registry {
    /// Builds the engine with all configured providers, the built-in tools, the program's own toolboxes, the MCP
    /// servers, the web APIs, and a journal in memory. To use another journal, set it [before the engine is
    /// built](Prepared::with_journal).
    ///
    /// A missing key is no error here: requests to that provider fail. A missing variable of an MCP server or a
    /// web API is reported when tools are listed.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] for unknown kinds and options, and for settings that a factory refuses.
    pub fn assemble(
        &self,
        config: &Config,
        environment: &Environment,
    ) -> Result<Assembly, ConfigError> {
        let prepared = self.prepare(config, environment)?;
        Ok(prepared.with_journal(Arc::new(MemoryJournal::default())))
    }

    /// Builds everything but the journal, which may be opened concurrently.
    ///
    /// # Errors
    ///
    /// Those of [`Registry::assemble`].
    pub fn prepare(
        &self,
        config: &Config,
        environment: &Environment,
    ) -> Result<Prepared, ConfigError> {
        let transport = network::transport(config)?;
        let mut builder = Engine::builder(Arc::new(MemoryJournal::default()));
        if config.builtins {
            builder = builder.builtins(Arc::new(Builtins::default()));
        }
        let (mut missing_keys, mut problems) = (BTreeMap::new(), Vec::new());
        let (mut options, mut dialects) = (config.options.clone(), BTreeMap::new());
        options.prices = Arc::new(config.prices());
        options.windows = Arc::new(config.windows.clone());
        let (mut keys_found, mut providers) = (BTreeSet::new(), BTreeMap::new());
        let mut capabilities = BTreeMap::new();
        let mut upstreams = BTreeMap::new();
        for (name, provider) in &config.providers {
            if provider.is_default() && !self.providers.contains_key(name) {
                // A custom registry need not know the default providers.
                continue;
            }
            match self.build_provider(config, (name, provider), environment, &transport) {
                Ok(built) => {
                    let owner = built.model.state_owner(&options.model.model);
                    dialects.insert(Arc::clone(name), Arc::clone(&owner.dialect));
                    capabilities.insert(Arc::clone(name), built.model.capabilities());
                    builder = builder.model(Arc::clone(name), built.model);
                    if let Some(upstream) = built.upstream {
                        upstreams.insert(Arc::clone(name), upstream);
                    }
                    match &built.key {
                        KeyState::Found(_) => {
                            keys_found.insert(Arc::clone(name));
                        }
                        KeyState::Missing(missing) => {
                            missing_keys.insert(Arc::clone(name), missing.clone());
                        }
                        KeyState::NotNeeded => {}
                    }
                    let kind = provider.kind.as_ref().map_or(name, |(kind, _)| kind);
                    let state = ProviderState {
                        at_vendor: provider.base_url.is_none() && is_vendor(kind),
                        configured: !provider.is_default(),
                        dialect: owner.dialect,
                        endpoint: owner.endpoint,
                        key: built.key,
                        kind: Arc::clone(kind),
                    };
                    providers.insert(Arc::clone(name), state);
                }
                Err(more) => problems.extend(more),
            }
        }
        for (name, route) in &config.routes {
            builder = builder.route(route.route(name, &capabilities));
        }
        problems.extend(unknown_dialects(config, &dialects));
        let known: Vec<&str> = config.providers.keys().map(|name| &**name).collect();
        problems.extend(endpoints::problems(config.serve.token_endpoints(), &known));
        problems.extend(self.journal_factory(config).err().unwrap_or_default());
        let (joined, taken) = self.join(config, builder);
        builder = joined;
        problems.extend(taken);
        let observers = self.mcp_observers.clone().unwrap_or_default();
        builder = builder.mcp_observers(observers.clone());
        builder = builder.tool_cache(config.tool_cache.clone());
        let common = CommonSettings {
            cache: config.cache.clone(),
            data: config.data.clone(),
            environment: environment.clone(),
            guarded: self.guarded,
            redact_details: self.redact_details,
            sign_in_network: network::guarded(config),
            list_lifetime: config.list_lifetime,
            questions: config.questions,
            start_wait: config.start_wait,
            transport: transport.clone(),
            observers,
            own_sign_in: None,
            pin_notice: Arc::default(),
        };
        let guarded = network::guarded(config);
        let own = OwnServerToolboxes::new(&config.own_servers, &common, guarded);
        builder = builder.own_servers(Arc::new(own));
        let servers = ServerSet::new(config.servers.values(), common);
        let web = web::toolboxes(config, environment, self.redact_details)?;
        builder = builder.toolbox_source(Arc::new(servers.clone()));
        builder = builder.toolbox_source(Arc::new(FixedToolboxes::new(web)));
        for source in &self.sources {
            builder = builder.toolbox_source(Arc::clone(source));
        }
        match config
            .approvals
            .join(builder, |id| self.has_toolbox(config, id))
        {
            Ok(joined) => builder = joined,
            Err(problem) => {
                problems.push(problem);
                ConfigError::check(problems)?;
                return Err(ConfigError::Wrong(Vec::new()));
            }
        }
        ConfigError::check(problems)?;
        let mut prepared = Prepared {
            builder,
            dialects,
            keys_found,
            missing_keys,
            options,
            providers,
            servers,
            upstreams,
        };
        let model = prepared.options.model.clone();
        let always = &config.options.settings.extensions;
        switch(
            &mut prepared.options,
            &prepared.dialects,
            (always, &config.extensions),
            model,
        );
        Ok(prepared)
    }

    fn build_provider(
        &self,
        config: &Config,
        (name, provider): (&Arc<str>, &ProviderConfig),
        environment: &Environment,
        transport: &Transport,
    ) -> Result<BuiltProvider, Vec<ConfigProblem>> {
        let provider_place = provider
            .place
            .clone()
            .unwrap_or_else(|| Origin::Default.into());
        let (kind, place) = match &provider.kind {
            Some((kind, place)) => (kind, place),
            None => (name, &provider_place),
        };
        let factory = self.providers.get(kind).ok_or_else(|| {
            if let Some(feature) = kinds::left_out(kind) {
                return vec![features::left_out(feature, place.clone())];
            }
            let kinds: Vec<&Arc<str>> = self.providers.keys().collect();
            let message = format!(
                "there is no kind of provider `{kind}`{}",
                did_you_mean(kind, &kinds)
            );
            vec![ConfigProblem::new(place.clone(), message)]
        })?;
        unknown_options(&**factory, provider)?;
        let (key, state) = find_key(&**factory, name, provider, environment);
        let missing_key = match &state {
            // Clients of a gateway cannot fix a missing key, and must not learn where keys are stored.
            KeyState::Missing(_) if self.redact_details => Some(format!(
                "the provider `{name}` has no key, and the log says why"
            )),
            KeyState::Missing(missing) => Some(missing.reason.clone()),
            KeyState::Found(_) | KeyState::NotNeeded => None,
        };
        let modes = tool_modes::read(&provider.options, factory.tool_mode())
            .map_err(|problem| vec![problem])?;
        let options = provider
            .options
            .iter()
            .filter(|(name, (value, _))| tool_modes::is_for_factory(name, value))
            .map(|(name, (value, _))| (Arc::clone(name), value.clone()));
        let settings = ProviderSettings {
            base_url: provider.base_url.clone(),
            cache: provider.cache.unwrap_or(config.cache_mode),
            data: config.data.clone(),
            endpoints: config.serve.endpoints_of(name),
            // If the path of this program is unknown, there is no guard.
            guard: self.guarded.then(guard_program).and_then(Result::ok),
            key,
            missing_key,
            name: Arc::clone(name),
            options: options.collect(),
            refused_fields: RefusedFields::default(),
            transport: transport.clone(),
            variables: variables(&**factory, environment),
        };
        let is_passthrough = match provider.passthrough {
            ProviderPassthrough::Always => true,
            ProviderPassthrough::Auto => factory.is_own_api(&settings),
            ProviderPassthrough::Never => false,
        };
        let upstream = factory.upstream(&settings);
        let built = upstream.and_then(|upstream| Ok((factory.build(settings)?, upstream)));
        let (model, upstream) = built.map_err(|error| {
            let problem = ConfigProblem::new(provider_place, error.to_string());
            let help = provider.base_url.as_deref().and_then(network::address_help);
            vec![match help {
                Some(help) => problem.with_help(help),
                None => problem,
            }]
        })?;
        let model = match modes {
            Some(modes) => Arc::new(TextTools::new(model, modes)),
            None => model,
        };
        Ok(BuiltProvider {
            key: state,
            model,
            upstream: upstream.map(|upstream| ProviderUpstream {
                is_passthrough,
                upstream,
            }),
        })
    }
}

/// Problems of extensions whose dialect no provider speaks.
fn unknown_dialects(
    config: &Config,
    dialects: &BTreeMap<Arc<str>, Arc<str>>,
) -> Vec<ConfigProblem> {
    // A file may be written for more providers than are currently configured.
    let provider_dialects = dialects.values().map(|dialect| &**dialect);
    let known: BTreeSet<&str> = DIALECTS.iter().copied().chain(provider_dialects).collect();
    let known: Vec<&str> = known.into_iter().collect();
    let mut reported: Vec<&str> = Vec::new();
    let mut problems = Vec::new();
    let assistants = config.assistants.values();
    let assistants = assistants.flat_map(|assistant| &assistant.extensions);
    for (extension, place) in config.extensions.iter().chain(assistants) {
        let dialect = &*extension.dialect;
        if !known.contains(&dialect) && !reported.contains(&dialect) {
            reported.push(dialect);
            let hint = did_you_mean(dialect, &known);
            let message = format!("no provider speaks `{dialect}`{hint}");
            problems.push(ConfigProblem::new(place.clone(), message));
        }
    }
    problems
}

/// The variables that a factory reads beside its key, as far as they are set.
fn variables(
    factory: &dyn ProviderFactory,
    environment: &Environment,
) -> BTreeMap<Arc<str>, Secret> {
    let names = factory.variables().iter();
    let set = names.filter_map(|name| {
        let text = environment.get(name)?.ok()?;
        (!text.trim().is_empty()).then(|| (Arc::from(*name), Secret::new(&text)))
    });
    set.collect()
}

fn unknown_options(
    factory: &dyn ProviderFactory,
    provider: &ProviderConfig,
) -> Result<(), Vec<ConfigProblem>> {
    let known: Vec<&str> = COMMON.iter().chain(factory.options()).copied().collect();
    let unknown = provider
        .options
        .iter()
        .filter(|(name, _)| !known.contains(&&***name));
    let problems: Vec<ConfigProblem> = unknown
        .map(|(name, (_, place))| {
            ConfigProblem::new(
                place.clone(),
                format!("unknown{}", did_you_mean(name, &known)),
            )
        })
        .collect();
    if problems.is_empty() {
        Ok(())
    } else {
        Err(problems)
    }
}

/// A provider that was built.
struct BuiltProvider {
    key: KeyState,
    model: Arc<dyn ChatModel>,
    upstream: Option<ProviderUpstream>,
}

/// The built-in dialects.
const DIALECTS: &[&str] = &[
    "bedrock",
    "claude",
    "gemini",
    "ollama",
    "openai-chat",
    "openai-responses",
];

/// The options of every provider, for suggestions.
const COMMON: &[&str] = &[
    "api_key_env",
    "api_key_file",
    "api_key_keyring",
    "base_url",
    "kind",
    "passthrough",
    "tools_of",
];
