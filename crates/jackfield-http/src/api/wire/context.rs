//! Wire types of resources and prompts of MCP servers.

use std::collections::BTreeMap;

use jackfield_engine::ContextChange;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

/// The resources of a server.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ServerResources)]
pub(crate) struct ServerResources {
    /// The resources as the server defines them, each with its `uri` and `name`.
    #[schema(value_type = Vec<Object>)]
    pub(crate) resources: Vec<Value>,
    /// The templates of further resources, each with its `uriTemplate` (RFC 6570).
    #[schema(value_type = Vec<Object>)]
    pub(crate) templates: Vec<Value>,
    /// What was left out, in sentences.
    pub(crate) problems: Vec<String>,
}

/// Which resource is read.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct ResourceQuery {
    /// The URI of the resource.
    pub(crate) uri: String,
}

/// What is watched.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct WatchQuery {
    /// The URI of a resource; without it, only the lists are watched.
    pub(crate) uri: Option<String>,
}

/// A change at a server.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ResourceChange)]
#[serde(tag = "changed", rename_all = "snake_case")]
pub(crate) enum ResourceChange {
    /// The list of prompts.
    Prompts,
    /// A resource.
    Resource {
        /// Its URI.
        uri: String,
    },
    /// The lists of resources and templates.
    Resources,
    /// Changes are reported from here on, and anything may have changed before: at the beginning, and after the
    /// connection to the server was lost.
    Watching,
}

impl From<ContextChange> for ResourceChange {
    fn from(change: ContextChange) -> Self {
        match change {
            ContextChange::Prompts => Self::Prompts,
            ContextChange::Resource(uri) => Self::Resource {
                uri: uri.to_string(),
            },
            ContextChange::Resources => Self::Resources,
            ContextChange::Watching => Self::Watching,
        }
    }
}

/// A resource.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Resource)]
pub(crate) struct ResourceView {
    /// Its contents as the server sent them, each with its `uri` and either `text` or `blob`.
    #[schema(value_type = Vec<Object>)]
    pub(crate) contents: Vec<Value>,
}

/// The prompts of a server.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ServerPrompts)]
pub(crate) struct ServerPrompts {
    /// The prompts as the server defines them, each with its `name` and `arguments`.
    #[schema(value_type = Vec<Object>)]
    pub(crate) prompts: Vec<Value>,
}

/// A prompt to be made.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = GetPrompt, example = json!({ "name": "greet", "arguments": { "who": "Ann" } }))]
#[serde(deny_unknown_fields)]
pub(crate) struct PromptGiven {
    /// Its name.
    pub(crate) name: String,
    /// The values of its arguments. One that is null counts as missing.
    #[schema(value_type = BTreeMap<String, String>)]
    #[serde(default)]
    pub(crate) arguments: BTreeMap<String, Option<String>>,
}

/// A prompt with its arguments.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Prompt)]
pub(crate) struct PromptView {
    /// Its description.
    pub(crate) description: Option<String>,
    /// Its messages as the server sent them, each with its `role` and `content`.
    #[schema(value_type = Vec<Object>)]
    pub(crate) messages: Vec<Value>,
}

/// An argument to be completed, of a prompt or of a template.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = CompleteArgument, example = json!({ "prompt": "greet", "argument": "who", "value": "An" }))]
#[serde(deny_unknown_fields)]
pub(crate) struct CompleteGiven {
    /// The prompt, by its name.
    pub(crate) prompt: Option<String>,
    /// The template, by itself.
    pub(crate) template: Option<String>,
    /// The argument, by its name.
    pub(crate) argument: String,
    /// The beginning of its value.
    #[serde(default)]
    pub(crate) value: String,
    /// The values of other arguments.
    #[serde(default)]
    pub(crate) known: BTreeMap<String, String>,
}

/// The values that an argument may have.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Completion)]
pub(crate) struct CompletionView {
    /// The values, the best ones first; a hundred at most.
    pub(crate) values: Vec<String>,
    /// Whether there are more.
    pub(crate) has_more: bool,
    /// The number of all values, if it is known.
    pub(crate) total: Option<u64>,
}
