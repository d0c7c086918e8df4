//! The gateway of an assembly and its configuration.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jackfield_assembly::{
    ApprovalsMode, Assembly, Config, ConfigError, DisconnectSetting, Environment, KeyState,
    OpenJournal, PageToken, ProviderState, ResponsesSetting, ServeConfig, ServeLimits, ServerSet,
    ServerStatus, TokenEndpoint,
};
use jackfield_domain::digest::Digest;
use jackfield_domain::ids::ToolName;
use jackfield_domain::request::ModelRef;
use jackfield_engine::Disconnect;
use jackfield_gateway::{
    ApiKeys, AssistantConfig, Gateway, GatewayConfig, GatewayLimits, GatewayMetrics, KeySummary,
    OpenEndpoint, PassthroughConfig, PassthroughUpstream, Principal, ProviderSummary,
    ServerDirectory, ServerSummary, ServerSummaryState, SignInConfig, ToolSetEntry,
};

/// Makes the gateway.
///
/// # Errors
///
/// [`ConfigError`] if a token cannot be read.
pub(crate) fn gateway(
    mut assembled: Assembly,
    config: &Config,
    environment: &Environment,
    metrics: Option<Arc<dyn GatewayMetrics>>,
    page_token: Option<&PageToken>,
) -> Result<Gateway, ConfigError> {
    let serve = &config.serve;
    // An approver may allow a call even where no person can be asked.
    let can_ask = serve.approvals == ApprovalsMode::Wait;
    assembled.options.policy.can_ask = can_ask || assembled.engine.has_approver();
    let default_options = assembled.options.clone();
    let mut options = BTreeMap::new();
    let names: Vec<Arc<str>> = assembled.providers.keys().cloned().collect();
    for provider in names {
        let model = ModelRef {
            model: Arc::clone(&default_options.model.model),
            provider: Arc::clone(&provider),
        };
        assembled.switch(config, model, None);
        options.insert(provider, assembled.options.clone());
    }
    let assistants = config.assistant_names().into_iter().filter_map(|name| {
        let assistant = config.assistant(&name)?;
        let mut options = assembled.options_of(&assistant);
        options.policy.can_ask =
            assistant.approvals == ApprovalsMode::Wait || assembled.engine.has_approver();
        let of_name = AssistantConfig::new(&name, options);
        let is_kept = assistant.kept;
        Some((name, AssistantConfig { is_kept, ..of_name }))
    });
    let assistants: BTreeMap<_, _> = assistants.collect();
    let has_tools = config.builtins || config.web.has_apis();
    let missing_keys = assembled.missing_keys.into_iter();
    let providers = assembled.providers.iter();
    let upstreams = assembled.upstreams.into_iter().map(|(name, upstream)| {
        let upstream = PassthroughUpstream {
            is_enabled: upstream.is_passthrough,
            upstream: upstream.upstream,
        };
        (name, upstream)
    });
    let sign_in = sign_in(config, environment)?;
    let config = GatewayConfig {
        access_log: serve.access_log,
        aliases: config.aliases.clone(),
        assistants,
        api_keys: api_keys(serve, environment)?,
        budget_warning: Some(serve.budget_warning).filter(|percent| *percent > 0),
        disconnect: match serve.disconnect {
            DisconnectSetting::Cancel => Disconnect::Cancel(Duration::ZERO),
            DisconnectSetting::Finish => Disconnect::Finish,
        },
        extensions: serve.extensions,
        has_tools,
        keep_alive: serve.keep_alive,
        limits: limits(&serve.limits),
        approve: serve.approve,
        ask: serve.ask,
        log_content: serve.log_content,
        metrics,
        missing_keys: missing_keys
            .map(|(name, missing)| (name, missing.reason))
            .collect(),
        offered_tools: serve.offer.clone(),
        options,
        passthrough: PassthroughConfig {
            endpoints: serve.endpoints.clone(),
            is_enabled: serve.passthrough,
            keeps_responses: serve.responses == ResponsesSetting::Kept,
            upstreams: upstreams.collect(),
        },
        has_tls: serve.tls.is_some(),
        page_token: page_token.map(|token| Digest::of(token.expose().as_bytes())),
        public_url: serve.public_url.clone(),
        providers: providers
            .map(|(name, state)| (Arc::clone(name), provider(state)))
            .collect(),
        servers: Arc::new(ConfiguredServers(assembled.servers)),
        tags: config.tags.clone(),
        tool_sets: tool_sets(serve),
        show_tools: serve.show_tools,
        sign_in,
        stream_arguments: serve.stream_arguments,
        whole_replies: serve.whole_replies,
        ..GatewayConfig::new(default_options)
    };
    let memory = OpenJournal::ephemeral_beside(&assembled.engine).journal;
    Ok(Gateway::new(assembled.engine, memory, config))
}

/// How people sign in to the page, if they can.
fn sign_in(
    config: &Config,
    environment: &Environment,
) -> Result<Option<SignInConfig>, ConfigError> {
    let serve = &config.serve;
    let provider = config.identity_provider(environment)?;
    let Some((provider, oidc)) = provider.zip(serve.oidc.as_ref()) else {
        return Ok(None);
    };
    Ok(Some(SignInConfig {
        admins: oidc.admins.clone(),
        label: Arc::clone(&oidc.label),
        models: oidc.models.clone(),
        provider,
        tools: oidc.tools.as_ref().unwrap_or(&serve.tools).clone(),
    }))
}

/// The clients; without tokens, a sign-in and keys in the journal, the gateway only listens on this machine, so every client
/// is its owner.
fn api_keys(serve: &ServeConfig, environment: &Environment) -> Result<ApiKeys, ConfigError> {
    if !serve.has_clients() {
        return Ok(ApiKeys::open(serve.tools.clone()));
    }
    let (mut clients, mut problems) = (Vec::new(), Vec::new());
    let digests = serve.digests(environment).into_iter();
    for ((name, token), (_, digest)) in serve.tokens.iter().zip(digests) {
        let client = Principal {
            admin: token.admin,
            endpoints: token.endpoints.iter().map(endpoint).collect(),
            has_no_approvals: false,
            has_own_servers: false,
            lookup: None,
            models: None,
            name: Arc::clone(name),
            passthrough: token.passthrough,
            principal: Arc::clone(token.principal.as_ref().unwrap_or(name)),
            quotas: Vec::new(),
            tools: token.tools.as_ref().unwrap_or(&serve.tools).clone(),
        };
        match digest {
            Ok(digest) => clients.push((digest, client)),
            Err(problem) => problems.push(problem),
        }
    }
    ConfigError::check(problems)?;
    Ok(ApiKeys::new(clients).with_tools(serve.tools.clone()))
}

/// The sets of tools for MCP clients. Their names were checked when they were read.
fn tool_sets(serve: &ServeConfig) -> BTreeMap<Arc<str>, Vec<ToolSetEntry>> {
    let sets = serve.tool_sets.iter().map(|(name, tools)| {
        let tools = tools.iter().filter_map(|(name, tool)| {
            Some(ToolSetEntry {
                arguments: tool.arguments.clone(),
                description: tool.description.clone(),
                name: ToolName::parse(name).ok()?,
                origin: tool.origin.clone(),
            })
        });
        (Arc::clone(name), tools.collect())
    });
    sets.collect()
}

fn endpoint(endpoint: &TokenEndpoint) -> OpenEndpoint {
    OpenEndpoint {
        path: Arc::clone(&endpoint.path),
        provider: Arc::clone(&endpoint.provider),
    }
}

const fn limits(limits: &ServeLimits) -> GatewayLimits {
    GatewayLimits {
        body: limits.body,
        body_time: limits.body_time,
        connections: limits.connections,
        drain: limits.drain,
        header_time: limits.header_time,
        headers: limits.headers,
        streams: limits.streams,
        tools: limits.tools,
        whole_reply: limits.whole_reply,
        write_time: limits.write_time,
    }
}

fn provider(state: &ProviderState) -> ProviderSummary {
    ProviderSummary {
        at_vendor: state.at_vendor,
        configured: state.configured,
        dialect: Arc::clone(&state.dialect),
        key: match state.key {
            KeyState::Found(_) => KeySummary::Found,
            KeyState::Missing(_) => KeySummary::Missing,
            KeyState::NotNeeded => KeySummary::NotNeeded,
        },
        kind: Arc::clone(&state.kind),
    }
}

struct ConfiguredServers(ServerSet);

impl ServerDirectory for ConfiguredServers {
    fn servers(&self) -> Vec<ServerSummary> {
        let servers = self.0.all();
        let servers = servers.iter().map(|server| {
            let config = &server.config;
            let state = server.state();
            // A picture might be that of another server, so only those of trusted ones are shown.
            let icon = match &state {
                ServerStatus::Ready { icon, .. } if config.trusted => icon.clone(),
                ServerStatus::Failed { .. }
                | ServerStatus::Off
                | ServerStatus::Ready { .. }
                | ServerStatus::Starting
                | ServerStatus::Stopped => None,
            };
            ServerSummary {
                description: config.description.clone(),
                icon,
                id: config.id.as_str().into(),
                name: config.name.clone(),
                state: match state {
                    ServerStatus::Failed { reason, .. } => ServerSummaryState::Failed(reason),
                    ServerStatus::Off => ServerSummaryState::Off,
                    ServerStatus::Ready { protocol, .. } => ServerSummaryState::Ready(protocol),
                    ServerStatus::Starting => ServerSummaryState::Starting,
                    ServerStatus::Stopped => ServerSummaryState::Stopped,
                },
                trusted: config.trusted,
            }
        });
        servers.collect()
    }

    fn is_any_enabled(&self) -> bool {
        self.0.all().iter().any(|server| server.config.enabled)
    }

    fn log(&self, id: &str) -> Option<Vec<String>> {
        let mut servers = self.0.all().into_iter();
        let server = servers.find(|server| server.config.id.as_str() == id)?;
        Some(server.log())
    }
}
