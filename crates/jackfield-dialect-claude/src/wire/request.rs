//! The body of `POST /v1/messages`.

use std::sync::Arc;

use jackfield_dialect_kit::form::text_or_list;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::block::{Block, Content};
use crate::request::Names;

/// The body.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Request {
    /// The model.
    pub model: String,
    /// The most tokens of the reply.
    #[serde(deserialize_with = "jackfield_dialect_kit::whole::number")]
    pub max_tokens: u64,
    /// The system prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<System>,
    /// The tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<Tool>>,
    /// Which of them may or must be called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    /// The conversation.
    pub messages: Vec<InputMessage>,
    /// Texts that end the reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_sequences: Option<Vec<String>>,
    /// Whether and how far to think.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<Thinking>,
    /// Effort, and the form of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_config: Option<OutputConfig>,
    /// About the caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
    /// `auto` or `standard_only`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_tier: Option<String>,
    /// Gone in 2026-10-21.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Gone in 2026-10-21.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Gone in 2026-10-21.
    #[serde(
        default,
        deserialize_with = "jackfield_dialect_kit::whole::optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub top_k: Option<u32>,
    /// Whether the reply is to come as events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<bool>,
    /// Every other field.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The system prompt: a text, or text blocks.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum System {
    /// A text.
    Text(String),
    /// Text blocks.
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
    /// Who it is from.
    pub role: Role,
    /// What it says. Only a system message that has settings can be without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
    /// How long a system message stays in front of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clear_at: Option<Value>,
    /// The settings of a system message: the effort from here on (beta `per-turn-control`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_config: Option<Value>,
}

/// Who a message is from.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The model.
    Assistant,
    /// Whoever runs the conversation.
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
    /// Its name; some of the vendor's have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The JSON Schema of its arguments; the vendor's own tools have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<Value>,
    /// Whether the vendor holds the model to the schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strict: Option<bool>,
    /// The names of its properties that the vendor does not take; not a part of the wire form.
    #[serde(skip)]
    pub names: Option<Arc<Names>>,
    /// Every other field.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Which tools may or must be called.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(remote = "Self", rename_all = "snake_case", tag = "type")]
pub enum ToolChoice {
    /// At least one must.
    Any {
        /// Whether exactly one must.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        disable_parallel_tool_use: Option<bool>,
    },
    /// Any may.
    Auto {
        /// Whether at most one may.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        disable_parallel_tool_use: Option<bool>,
    },
    /// None may.
    None,
    /// This one must.
    Tool {
        /// Its name.
        name: String,
        /// Whether exactly one call must come.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        disable_parallel_tool_use: Option<bool>,
    },
}

/// Whether and how far to think.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Thinking {
    /// `adaptive`, `between_tools`, `disabled` or `enabled`.
    #[serde(rename = "type")]
    pub kind: String,
    /// With `enabled`: how many tokens; at least 1024, less than `max_tokens`.
    #[serde(
        default,
        deserialize_with = "jackfield_dialect_kit::whole::optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub budget_tokens: Option<u64>,
    /// `summarized` or `omitted`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display: Option<String>,
    /// Every other field.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Effort, and the form of the answer.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct OutputConfig {
    /// `low`, `medium`, `high`, `xhigh` or `max`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// The form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<OutputFormat>,
    /// Every other field.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The form of the answer.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self")]
pub struct OutputFormat {
    /// Always `json_schema`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The schema.
    pub schema: Value,
}

/// About the caller.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Metadata {
    /// A name of the end user that tells nothing about the person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_id: Option<String>,
    /// Every other field.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

jackfield_dialect_kit::objects!(InputMessage, OutputFormat, ToolChoice,);
