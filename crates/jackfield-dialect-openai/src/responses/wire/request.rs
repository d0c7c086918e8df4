//! The body of `POST /v1/responses`.

use std::sync::Arc;

use jackfield_dialect_kit::form::text_or_list;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::item::Item;

/// The body of a request.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Request {
    pub model: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    pub input: Input,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<Tool>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    /// Whether one reply may hold several calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallel_tool_calls: Option<bool>,
    /// The most tokens of the reply, reasoning included.
    #[serde(
        default,
        deserialize_with = "jackfield_dialect_kit::whole_number::optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub max_output_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<ReasoningConfig>,
    /// The form and length of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<TextConfig>,
    /// Additional contents of the reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include: Option<Vec<String>>,
    /// Whether the vendor stores the reply, which is the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<bool>,
    /// Whether the reply is to be streamed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Nucleus sampling: only the likeliest tokens with this total probability.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Top-k sampling, which the vendor lacks and other servers have.
    #[serde(
        default,
        deserialize_with = "jackfield_dialect_kit::whole_number::optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub top_k: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_tier: Option<String>,
    /// A stable id of the end user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub safety_identifier: Option<String>,
    /// The deprecated form of the end user's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The conversation: a string, which stands for one user message, or items.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Input {
    Text(String),
    Items(Vec<Item>),
}

impl<'de> Deserialize<'de> for Input {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        text_or_list(
            deserializer,
            "a text or a list of items",
            Self::Text,
            Self::Items,
        )
    }
}

/// A tool: a function, a custom one, or one of the vendor's.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Tool {
    /// `function`, `custom`, or the type of one of the vendor's tools.
    #[serde(default, rename = "type")]
    pub kind: String,
    /// Its name; most of the vendor's tools have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// A description for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The JSON Schema of a function's arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Arc<Value>>,
    /// The form of a custom tool's text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<ToolFormat>,
    /// Whether the vendor enforces the schema. If this is null or missing, the vendor does so where the schema
    /// allows it.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub strict: Option<Option<bool>>,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Separates a missing field from null.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<bool>>, D::Error> {
    Option::<bool>::deserialize(deserializer).map(Some)
}

/// The form of a custom tool's text.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(remote = "Self", rename_all = "snake_case", tag = "type")]
pub enum ToolFormat {
    /// A sentence of a grammar.
    Grammar {
        definition: String,
        /// Its language: `lark` or `regex`.
        syntax: String,
    },
    Text {},
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(untagged, expecting = "a word or an object is needed")]
pub enum ToolChoice {
    /// `auto`, `none` or `required`.
    Word(String),
    /// A selection of the tools.
    Chosen(Chosen),
}

/// A selection of the tools.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self", rename_all = "snake_case", tag = "type")]
pub enum Chosen {
    AllowedTools {
        /// `auto` or `required`.
        mode: String,
        tools: Vec<Map<String, Value>>,
    },
    Custom {
        name: String,
    },
    Function {
        name: String,
    },
    /// One of the vendor's tools.
    #[serde(untagged)]
    Other(Map<String, Value>),
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct ReasoningConfig {
    /// `none`, `minimal`, `low`, `medium`, `high`, `xhigh` or `max`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// `auto`, `concise` or `detailed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The form and length of the answer.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct TextConfig {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<TextFormat>,
    /// `low`, `medium` or `high`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verbosity: Option<String>,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self", rename_all = "snake_case", tag = "type")]
pub enum TextFormat {
    JsonObject {},
    /// JSON that matches a schema.
    JsonSchema {
        /// A description for the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        name: String,
        schema: Value,
        /// Whether the vendor enforces the schema.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        strict: Option<bool>,
    },
    Text {},
}

jackfield_dialect_kit::objects!(Chosen, TextFormat, ToolFormat,);
