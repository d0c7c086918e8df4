//! A parsed request with its effective options.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use jackfield_dialect_kit::incoming::Incoming;
use jackfield_dialect_kit::serve::{ReplyInfo, ServeDialect, ServeError, ServeErrorKind};
use jackfield_dialect_openai::responses::DIALECT as RESPONSES;
use jackfield_domain::call_order::sort_by_call_order;
use jackfield_domain::digest::Digest;
use jackfield_domain::ids::{SessionId, ToolName};
use jackfield_domain::note::NoteEffect;
use jackfield_domain::settings::Settings;
use jackfield_domain::system_prompt::PartOrigin;
use jackfield_domain::tool::ToolChoice;
use jackfield_domain::trace::TraceContext;
use jackfield_engine::{Disconnect, ServerTools, TurnOptions};

use crate::api_keys::Principal;
use crate::gateway::Gateway;
use crate::models::RequestedModel;
use crate::passthrough::other_models;
use crate::{ids, tools};

/// A parsed request.
pub struct ParsedRequest {
    /// Whether it may continue the session that it names, and take it over if the session has no owner.
    pub may_adopt: bool,
    /// The metadata of its reply, except for the id.
    pub about: ReplyInfo,
    /// Whether it asks for a session of its own, which is kept.
    pub begins_session: bool,
    /// The digest of its body and address, which identifies a repeat.
    pub body: Digest,
    /// Whether its client sees calls of client tools while the model still writes them.
    pub calls_as_written: bool,
    /// The name of its dialect.
    pub dialect: &'static str,
    /// The request as its dialect parsed it.
    pub incoming: Incoming,
    /// Whether it is marked as a retry.
    pub is_repeat: bool,
    /// Whether its turn is kept after its end.
    pub is_durable: bool,
    /// Its idempotency key.
    pub key: Option<Arc<str>>,
    /// The options of its turn.
    pub options: TurnOptions,
    /// Its client.
    pub client: Principal,
    /// The principal whose conversations it sees.
    pub principal: Arc<str>,
    /// The session that it names.
    pub session: Option<SessionId>,
    /// Whether its client sees the calls of server tools.
    pub shows_tools: bool,
    /// The server tools that it may use.
    pub tools: ServerTools,
    /// Whether the request itself selects server tools.
    pub selects_tools: bool,
}

impl ParsedRequest {
    /// Reads a request.
    ///
    /// # Errors
    ///
    /// The request is invalid, or something would be lost although it is strict.
    pub fn parse(
        gateway: &Gateway,
        dialect: &'static dyn ServeDialect,
        client: &Principal,
        header: &dyn Fn(&str) -> Option<String>,
        body: &[u8],
    ) -> Result<Self, ServeError> {
        let config = &gateway.shared.config;
        let key = header("idempotency-key").map(|key| ids::idempotency_key(&key));
        let key = key.transpose().map_err(|why| {
            let message = format!("the header `idempotency-key`: {why}");
            ServeError::new(ServeErrorKind::Invalid, message)
        })?;
        let owner = |model: &str| gateway.owner_of(dialect.name(), model);
        let mut incoming = dialect.request(header, body, &owner)?;
        sort_by_call_order(&mut incoming.messages);
        let requested = gateway.requested_model(&incoming.model)?;
        gateway.check_model(client, Some(&incoming.model), &requested)?;
        other_models::check_json(client, body)?;
        let RequestedModel {
            assistant, model, ..
        } = &requested;
        check_calls(&incoming, dialect.name())?;
        check_tools(&incoming, config.limits.tools)?;
        let strict = strict(
            header("x-jackfield-strict").as_deref(),
            assistant.map_or(config.default_options.strict, |assistant| {
                assistant.options.strict
            }),
        )?;
        if let Some(least) = strict {
            refuse_losses(&incoming, least)?;
        }
        let selection = header(tools::HEADER);
        let permitted = tools::permitted(&client.tools, *assistant);
        // Who names an assistant asks for its tools.
        let (offered, only_own) = match assistant {
            Some(_) => (&ServerTools::All, false),
            None => (&config.offered_tools, !incoming.tools.is_empty()),
        };
        let used = tools::select(&permitted, offered, selection.as_deref(), only_own)?;
        let session = header("x-session-id");
        let begins_session = session.as_ref().is_some_and(|id| id.trim() == NEW_SESSION);
        let session = session.filter(|_| !begins_session);
        let session = session.map(|id| parse_session(&id)).transpose()?;
        // A session that `/api/v1` created for this token is known by its id, before anything has happened in it.
        let is_made_for = |session: &SessionId| session.is_issued_to(&client.principal);
        let may_adopt = client.admin || session.as_ref().is_some_and(is_made_for);
        let retried = header("x-stainless-retry-count");
        let wants_storage = incoming.store == Some(true) || incoming.background;
        let offers_server_tools = gateway.offers(client, &used, &model.provider);
        // Turns that run server tools survive a restart, even if the reply cannot be fetched later.
        let is_kept = assistant.map_or(offers_server_tools, |assistant| assistant.is_kept);
        let turn = gateway
            .options_for(&requested)
            .unwrap_or_else(|| TurnOptions::new(requested.model.clone()));
        let is_durable = session.is_some()
            || begins_session
            || incoming.previous.is_some()
            || wants_storage
            || is_kept
            // A question to a person does, too.
            || gateway.engine().has_own_tools(&turn);
        // Without a list of tools, those of the session apply. They are looked up later.
        let has_all_tools = !offers_server_tools && (incoming.names_tools || !is_durable);
        if has_all_tools {
            check_choice(&incoming)?;
        }
        let mut options = options(
            gateway,
            turn,
            &incoming,
            used,
            strict,
            (is_durable, offers_server_tools),
        );
        options.askable = client.tools.clone();
        options.budgets = client.budgets();
        // Such a reply can be fetched later.
        let is_stored = wants_storage || incoming.previous.is_some() || session.is_some();
        options.pauses = is_stored && dialect.name() == RESPONSES;
        options.tags = gateway.tags(header, body);
        options.trace = header("traceparent")
            .and_then(|parent| TraceContext::parse(&parent, header("tracestate").as_deref()))
            .map(Arc::new);
        let about = ReplyInfo {
            created: now(),
            dialect: gateway
                .engine()
                .state_owner(&model.provider, &model.model)
                .map(|owner| owner.dialect),
            echo: incoming.echo.clone(),
            id: String::new(),
            model: incoming.model.to_string(),
        };
        Ok(Self {
            about,
            begins_session,
            may_adopt,
            body: identity(&incoming, body),
            calls_as_written: incoming.stream && config.stream_arguments,
            dialect: dialect.name(),
            is_repeat: retried.is_some_and(|count| count.parse::<u32>().is_ok_and(|n| n > 0)),
            is_durable,
            key,
            options,
            client: client.clone(),
            principal: client.principal_for(incoming.settings.end_user.as_deref()),
            session,
            shows_tools: config.show_tools && dialect.shows_server_tools(),
            tools: permitted,
            selects_tools: selection.is_some(),
            incoming,
        })
    }
}

/// The digest that identifies a repeat of a request: of its body, and of what its address says.
fn identity(incoming: &Incoming, body: &[u8]) -> Digest {
    let body = Digest::of(body);
    match &incoming.address {
        None => body,
        Some(address) => Digest::of_parts([address.as_str(), &body.to_hex()]),
    }
}

/// Refuses two calls of one reply with the same id, whose results could not be told apart.
fn check_calls(incoming: &Incoming, dialect: &str) -> Result<(), ServeError> {
    let place = match dialect {
        "gemini" => "contents",
        "openai-responses" => "input",
        _ => "messages",
    };
    for message in &incoming.messages {
        let mut ids = BTreeSet::new();
        for call in message.calls() {
            let own = call.upstream.as_ref().map(|upstream| &*upstream.id);
            let id = own.unwrap_or_else(|| call.id.as_str());
            if !ids.insert(id) {
                let message = format!("{place}: two calls of one reply have the id `{id}`");
                return Err(ServeError::new(ServeErrorKind::Invalid, message).at(place));
            }
        }
    }
    Ok(())
}

/// Refuses the choice of a tool that is not offered, and of any tool where none is.
fn check_choice(incoming: &Incoming) -> Result<(), ServeError> {
    let is_offered = |name: &&ToolName| incoming.tools.iter().any(|tool| tool.name == **name);
    let missing = match &incoming.choice {
        ToolChoice::Auto | ToolChoice::Forbidden => None,
        ToolChoice::Named(name) => Some(name).filter(|name| !is_offered(name)),
        ToolChoice::Only { tools, .. } => tools.iter().find(|name| !is_offered(name)),
        ToolChoice::Required if incoming.tools.is_empty() => {
            let message = "tool_choice: a tool has to be called, and there is none in `tools`";
            let error = ServeError::new(ServeErrorKind::Invalid, message);
            return Err(error.at("tool_choice"));
        }
        ToolChoice::Required => None,
    };
    match missing {
        None => Ok(()),
        Some(name) => {
            let message = format!("tool_choice: there is no tool `{name}` in `tools`");
            Err(ServeError::new(ServeErrorKind::Invalid, message).at("tool_choice"))
        }
    }
}

fn check_tools(incoming: &Incoming, most: usize) -> Result<(), ServeError> {
    let count = incoming.tools.len();
    if count > most {
        let message = format!("tools: there are {count}, and at most {most} may be brought");
        return Err(ServeError::new(ServeErrorKind::Invalid, message).at("tools"));
    }
    let mut names: Vec<&str> = incoming
        .tools
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    names.sort_unstable();
    let twice = names.windows(2).find_map(|pair| match pair {
        [one, other] if one == other => Some(*one),
        _ => None,
    });
    match twice {
        None => Ok(()),
        Some(name) => {
            let message = format!("tools: two of them have the name `{name}`");
            Err(ServeError::new(ServeErrorKind::Invalid, message).at("tools"))
        }
    }
}

/// The strictness of a request, by its header or the configuration: the least effect that must not be lost.
fn strict(
    header: Option<&str>,
    configured: Option<NoteEffect>,
) -> Result<Option<NoteEffect>, ServeError> {
    let Some(word) = header else {
        return Ok(configured);
    };
    let word = word.trim();
    let named = NoteEffect::NAMES.iter().find(|(name, _)| *name == word);
    match (word, named) {
        ("true", _) => Ok(Some(NoteEffect::Meaning)),
        ("false", _) => Ok(None),
        (_, Some((_, effect))) => Ok(Some(*effect)),
        (_, None) => {
            let message = format!(
                "the header `x-jackfield-strict` is one of true, meaning, quality, cost, cosmetic \
                 and false, not `{word}`"
            );
            Err(ServeError::new(ServeErrorKind::Invalid, message))
        }
    }
}

/// Refuses what was already lost when the request was parsed.
fn refuse_losses(incoming: &Incoming, least: NoteEffect) -> Result<(), ServeError> {
    match incoming.notes.iter().find(|note| note.effect >= least) {
        None => Ok(()),
        Some(note) => {
            let message = format!(
                "{}: this cannot be carried ({}), and the request is strict about that",
                note.path, note.code
            );
            Err(ServeError::new(ServeErrorKind::Strict, message).at(note.path.clone()))
        }
    }
}

fn parse_session(id: &str) -> Result<SessionId, ServeError> {
    SessionId::parse(id).map_err(|error| {
        let message = format!("the header `x-session-id`: {error}");
        ServeError::new(ServeErrorKind::NoSuchSession, message)
    })
}

fn options(
    gateway: &Gateway,
    mut options: TurnOptions,
    incoming: &Incoming,
    used: ServerTools,
    strict: Option<NoteEffect>,
    (is_durable, uses_tools): (bool, bool),
) -> TurnOptions {
    let config = gateway.config();
    // Who gets a reply when it is whole has seen nothing that would have to be taken back.
    options.can_supersede = !incoming.stream;
    options.choice = incoming.choice.clone();
    options.settings = merged(&options.settings, incoming.settings.clone());
    options.strict = strict;
    if !uses_tools || !incoming.system.parts.is_empty() {
        // The default system prompt is about server tools, and never precedes a client's own.
        let parts = &mut options.system.parts;
        parts.retain(|part| part.origin != PartOrigin::Default);
    }
    options
        .system
        .parts
        .extend(incoming.system.parts.iter().cloned());
    options.client_tools.clone_from(&incoming.tools);
    options.server_tools = used;
    // Only this client sees the reply, and only when it is whole.
    let is_whole = config.whole_replies && !is_durable && !incoming.stream;
    options.whole_reply_limit = is_whole.then_some(config.limits.whole_reply);
    options.disconnect = if incoming.background {
        Disconnect::Finish
    } else {
        config.disconnect
    };
    options
}

/// The client's settings over the configured ones.
fn merged(configured: &Settings, requested: Settings) -> Settings {
    let mut extensions = requested.extensions;
    let own = extensions.len();
    for extension in &configured.extensions {
        let own_extensions = extensions.iter().take(own);
        let mut said = own_extensions.map(|own| (&own.dialect, &own.path));
        if !said.any(|place| place == (&extension.dialect, &extension.path)) {
            extensions.push(extension.clone());
        }
    }
    Settings {
        cache: configured.cache,
        cache_ttl: configured.cache_ttl,
        effort: requested.effort.or(configured.effort),
        end_user: requested.end_user.or_else(|| configured.end_user.clone()),
        extensions,
        frequency_penalty: requested.frequency_penalty.or(configured.frequency_penalty),
        max_output_tokens: requested.max_output_tokens.or(configured.max_output_tokens),
        parallel_calls: requested.parallel_calls.or(configured.parallel_calls),
        presence_penalty: requested.presence_penalty.or(configured.presence_penalty),
        response_format: requested.response_format,
        seed: requested.seed.or(configured.seed),
        service_tier: requested
            .service_tier
            .or_else(|| configured.service_tier.clone()),
        stop: if requested.stop.is_empty() {
            configured.stop.clone()
        } else {
            requested.stop
        },
        temperature: requested.temperature.or(configured.temperature),
        thinking: requested.thinking.or(configured.thinking),
        thinking_shown: requested.thinking_shown.or(configured.thinking_shown),
        top_k: requested.top_k.or(configured.top_k),
        top_p: requested.top_p.or(configured.top_p),
        verbosity: requested.verbosity.or(configured.verbosity),
        headers: Vec::new(),
    }
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_secs()
}

/// What the header `x-session-id` has in place of an id to begin a session.
const NEW_SESSION: &str = "new";
