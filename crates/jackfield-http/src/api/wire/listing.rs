//! Wire types of listings: tools, servers, providers, models.

use jackfield_domain::listing::ListedModel;
use jackfield_domain::tool::{CatalogEntry, InputFormat, Permission};
use jackfield_engine::{Capabilities, ToolboxProblem};
use jackfield_gateway::{KeySummary, ProviderSummary, ServerSummary, ServerSummaryState};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// The tools that a turn has by default.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ToolList)]
pub(crate) struct ToolList {
    /// The tools, by name.
    pub(crate) tools: Vec<ToolView>,
    /// What could not be had, and why. It does not stop the others.
    pub(crate) problems: Vec<MissingView>,
}

/// A tool of the gateway.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Tool)]
pub(crate) struct ToolView {
    /// The name that models use.
    pub(crate) name: String,
    /// Its name in words.
    pub(crate) title: Option<String>,
    /// What it does.
    pub(crate) description: String,
    /// Where it comes from.
    pub(crate) server: String,
    /// Its own name there.
    pub(crate) tool: String,
    /// Whether it may run: `allow`, `ask` (a person is asked before each call) or `deny`.
    pub(crate) permission: String,
    /// What is known of its effects: `read_only`, `idempotent` or `unknown`.
    pub(crate) safety: String,
    /// The JSON Schema of its arguments; null if it takes free text.
    pub(crate) input_schema: Option<Value>,
    /// The JSON Schema of its structured results.
    pub(crate) output_schema: Option<Value>,
}

/// A toolbox whose tools, or one of them, cannot be had.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Missing)]
pub(crate) struct MissingView {
    /// Which.
    pub(crate) server: String,
    /// Why.
    pub(crate) message: String,
}

/// The MCP servers.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ServerList)]
pub(crate) struct ServerList {
    /// The servers, by id.
    pub(crate) servers: Vec<ServerView>,
}

/// An MCP server. How it is started is not told: it may name what is secret.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Server)]
pub(crate) struct ServerView {
    /// Its id.
    pub(crate) id: String,
    /// Its name in words.
    pub(crate) name: Option<String>,
    /// What it is for.
    pub(crate) description: Option<String>,
    /// The picture that it has of itself, as a `data:` URL of at most 16 KiB, if it is trusted and runs.
    pub(crate) icon: Option<String>,
    /// How it is: `ready`, `starting`, `stopped` (not needed yet), `off` or `failed`.
    pub(crate) state: String,
    /// What happened, if it failed: for admins, as it may name what is on the machine.
    pub(crate) reason: Option<String>,
    /// The revision of the protocol that is spoken with it.
    pub(crate) protocol: Option<String>,
    /// Whether what it says of the safety of its tools is believed.
    pub(crate) trusted: bool,
}

/// The log of an MCP server.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ServerLog)]
pub(crate) struct ServerLog {
    /// The last lines, the oldest first, without the values of secrets.
    pub(crate) lines: Vec<String>,
}

/// The providers of models.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ProviderList)]
pub(crate) struct ProviderList {
    /// The providers, by name.
    pub(crate) providers: Vec<ProviderView>,
}

/// A provider of models.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Provider)]
pub(crate) struct ProviderView {
    /// Its name: the first part of its models' names.
    pub(crate) name: String,
    /// What it is.
    pub(crate) kind: String,
    /// The language that it is asked in.
    pub(crate) dialect: String,
    /// Whether the configuration speaks of it; some are there without.
    pub(crate) configured: bool,
    /// How it stands with its key: `found`, `missing` or `not_needed`.
    pub(crate) key: String,
    /// What it can do.
    pub(crate) can: Option<CapabilitiesView>,
}

/// What a provider can do.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Capabilities)]
pub(crate) struct CapabilitiesView {
    /// Takes sound.
    pub(crate) audio: bool,
    /// Takes documents.
    pub(crate) documents: bool,
    /// Takes pictures.
    pub(crate) images: bool,
    /// Shows or carries reasoning.
    pub(crate) reasoning: bool,
    /// Can be held to a schema of the answer.
    pub(crate) structured_output: bool,
    /// Calls tools.
    pub(crate) tools: bool,
}

/// The models.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ModelList)]
pub(crate) struct ModelList {
    /// The default model.
    pub(crate) default: String,
    /// The models that can be named: assistants, aliases, and what the providers say that they have.
    pub(crate) models: Vec<ModelView>,
}

/// A model.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Model)]
pub(crate) struct ModelView {
    /// The name to ask for: an assistant, an alias, a route, or `provider/model`.
    pub(crate) id: String,
    /// What an alias stands for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) alias_of: Option<String>,
    /// The model of an assistant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) assistant_with: Option<String>,
    /// The models of a route.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) route_to: Option<Vec<String>>,
    /// Its name in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    /// How many tokens fit into a request and its reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) context_tokens: Option<u64>,
    /// How many tokens a reply may have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) output_tokens: Option<u64>,
}

impl ToolView {
    pub(crate) fn from_entry(tool: &CatalogEntry) -> Self {
        let definition = &tool.definition;
        Self {
            name: definition.name.to_string(),
            title: tool.title.as_deref().map(str::to_owned),
            description: definition.description.to_string(),
            server: tool.origin.toolbox.to_string(),
            tool: tool.origin.tool.to_string(),
            permission: match tool.permission {
                Permission::Allow | Permission::Granted { .. } => "allow",
                Permission::Ask => "ask",
                Permission::Deny(_) => "deny",
            }
            .to_owned(),
            safety: tool.safety.as_str().to_owned(),
            input_schema: match &definition.input {
                InputFormat::Json(schema) => Some(schema.as_ref().clone()),
                InputFormat::Text(_) => None,
            },
            output_schema: definition.output.as_deref().cloned(),
        }
    }
}

impl From<&ToolboxProblem> for MissingView {
    fn from(problem: &ToolboxProblem) -> Self {
        Self {
            server: problem.toolbox.to_string(),
            message: problem.message.clone(),
        }
    }
}

impl ServerView {
    /// Converts a server. Its error is only included on request, as it may name files and variables of this
    /// machine.
    pub(crate) fn from_summary(server: ServerSummary, with_reason: bool) -> Self {
        let (state, reason, protocol) = match server.state {
            ServerSummaryState::Failed(reason) => ("failed", Some(reason), None),
            ServerSummaryState::Off => ("off", None, None),
            ServerSummaryState::Ready(protocol) => ("ready", None, Some(protocol)),
            ServerSummaryState::Starting => ("starting", None, None),
            ServerSummaryState::Stopped => ("stopped", None, None),
        };
        Self {
            id: server.id.to_string(),
            name: server.name.as_deref().map(str::to_owned),
            description: server.description.as_deref().map(str::to_owned),
            icon: server.icon.as_deref().map(str::to_owned),
            state: state.to_owned(),
            reason: reason.filter(|_| with_reason),
            protocol,
            trusted: server.trusted,
        }
    }
}

impl ProviderView {
    pub(crate) fn new(name: &str, state: &ProviderSummary, can: Option<Capabilities>) -> Self {
        Self {
            name: name.to_owned(),
            kind: state.kind.to_string(),
            dialect: state.dialect.to_string(),
            configured: state.configured,
            key: match state.key {
                KeySummary::Found => "found",
                KeySummary::Missing => "missing",
                KeySummary::NotNeeded => "not_needed",
            }
            .to_owned(),
            can: can.map(|can| CapabilitiesView {
                audio: can.audio,
                documents: can.documents,
                images: can.images,
                reasoning: can.reasoning,
                structured_output: can.structured_output,
                tools: can.tools,
            }),
        }
    }
}

impl ModelView {
    /// Converts a model, with the model that it stands for if it is an alias.
    pub(crate) fn new(model: &ListedModel, alias_of: Option<String>) -> Self {
        Self {
            id: model.id.to_string(),
            alias_of,
            assistant_with: None,
            route_to: None,
            name: model.name.as_deref().map(str::to_owned),
            context_tokens: model.context,
            output_tokens: model.output,
        }
    }
}
