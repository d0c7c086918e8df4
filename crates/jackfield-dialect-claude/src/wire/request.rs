//! The body of `POST /v1/messages`.

use std::sync::Arc;

use jackfield_dialect_kit::form::text_or_list;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::block::{Block, Content};
use crate::property_names::PropertyNames;

/// The body of a request.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Request {
    pub model: String,
    /// The most tokens of the reply.
    #[serde(deserialize_with = "jackfield_dialect_kit::whole_number::number")]
    pub max_tokens: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<System>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<Tool>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    pub messages: Vec<InputMessage>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_sequences: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<Thinking>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_config: Option<OutputConfig>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
    /// `auto` or `standard_only`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_tier: Option<String>,
    /// Removed in 2026-10-21.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Removed in 2026-10-21.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Removed in 2026-10-21.
    #[serde(
        default,
        deserialize_with = "jackfield_dialect_kit::whole_number::optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub top_k: Option<u32>,
    /// Whether to stream the reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<bool>,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The system prompt: a string, or text blocks.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum System {
    Text(String),
    Blocks(Vec<Block>),
}

impl<'de> Deserialize<'de> for System {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        text_or_list(
            deserializer,
            "a text or a list of blocks",
            Self::Text,
            Self::Blocks,
        )
    }
}

/// A message of the conversation.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self")]
pub struct InputMessage {
    pub role: Role,
    /// The content. Only a system message with settings may lack it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
    /// How long a system message stays in the model's context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clear_at: Option<Value>,
    /// The settings of a system message: the effort from here on (beta `per-turn-control`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_config: Option<Value>,
}

/// The author of a message.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    Assistant,
    System,
    /// The user, and the tools.
    User,
}

/// A tool: a custom one, or one of the vendor's if `kind` names it.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Tool {
    /// `custom`, or the vendor's name and version of a tool.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Its name; some of the vendor's tools have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// A description for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The JSON Schema of its arguments; the vendor's own tools have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<Value>,
    /// Whether the vendor enforces the schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strict: Option<bool>,
    /// The renamed properties; not a part of the wire format.
    #[serde(skip)]
    pub names: Option<Arc<PropertyNames>>,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(remote = "Self", rename_all = "snake_case", tag = "type")]
pub enum ToolChoice {
    /// At least one call is required.
    Any {
        /// Whether exactly one call is required.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        disable_parallel_tool_use: Option<bool>,
    },
    /// Calls are optional.
    Auto {
        /// Whether at most one call is permitted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        disable_parallel_tool_use: Option<bool>,
    },
    /// No calls are permitted.
    None,
    /// A call of this tool is required.
    Tool {
        name: String,
        /// Whether exactly one call is required.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        disable_parallel_tool_use: Option<bool>,
    },
}

#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Thinking {
    /// `adaptive`, `between_tools`, `disabled` or `enabled`.
    #[serde(rename = "type")]
    pub kind: String,
    /// With `enabled`: the budget in tokens; at least 1024, less than `max_tokens`.
    #[serde(
        default,
        deserialize_with = "jackfield_dialect_kit::whole_number::optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub budget_tokens: Option<u64>,
    /// `summarized` or `omitted`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display: Option<String>,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct OutputConfig {
    /// `low`, `medium`, `high`, `xhigh` or `max`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<OutputFormat>,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self")]
pub struct OutputFormat {
    /// Always `json_schema`.
    #[serde(rename = "type")]
    pub kind: String,
    pub schema: Value,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Metadata {
    /// A pseudonymous id of the end user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_id: Option<String>,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

jackfield_dialect_kit::objects!(InputMessage, OutputFormat, ToolChoice,);
