//! The body of `POST /v1/responses`.

use std::sync::Arc;

use jackfield_dialect_kit::form::text_or_list;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::item::Item;

/// The body.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Request {
    /// The model.
    pub model: String,
    /// The system prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// The conversation.
    pub input: Input,
    /// The tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<Tool>>,
    /// Which of them may or must be called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    /// Whether one reply may hold several calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallel_tool_calls: Option<bool>,
    /// The most tokens of the reply, reasoning included.
    #[serde(
        default,
        deserialize_with = "jackfield_dialect_kit::whole::optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub max_output_tokens: Option<u64>,
    /// How to reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<ReasoningConfig>,
    /// The form and length of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<TextConfig>,
    /// What the reply is to hold besides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include: Option<Vec<String>>,
    /// Whether the vendor keeps the reply; it does unless told otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<bool>,
    /// Whether the reply is to come as events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<bool>,
    /// Sampling temperature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Sampling among the likeliest tokens of this probability together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Sampling among the k likeliest tokens: not the vendor's, but other servers'.
    #[serde(
        default,
        deserialize_with = "jackfield_dialect_kit::whole::optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub top_k: Option<u32>,
    /// A price and speed class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_tier: Option<String>,
    /// A stable name of the end user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub safety_identifier: Option<String>,
    /// The same, as it was before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Every other field.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The conversation: a text, which stands for one message of the user, or items.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Input {
    /// A text.
    Text(String),
    /// Items.
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
    /// `function`, `custom`, or the vendor's name of a tool.
    #[serde(default, rename = "type")]
    pub kind: String,
    /// Its name; most of the vendor's have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The JSON Schema of a function's arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Arc<Value>>,
    /// The form of a custom tool's text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<ToolFormat>,
    /// Whether the vendor holds the model to the schema. With null, and where it is missing, the vendor
    /// does so where the schema allows it.
    #[serde(
        default,
        deserialize_with = "said",
        skip_serializing_if = "Option::is_none"
    )]
    pub strict: Option<Option<bool>>,
    /// Every other field.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Whether something was said at all, and what.
fn said<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<bool>>, D::Error> {
    Option::<bool>::deserialize(deserializer).map(Some)
}

/// The form of a custom tool's text.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(remote = "Self", rename_all = "snake_case", tag = "type")]
pub enum ToolFormat {
    /// A sentence of a grammar.
    Grammar {
        /// The grammar.
        definition: String,
        /// Its language: `lark` or `regex`.
        syntax: String,
    },
    /// Any text.
    Text {},
}

/// Which tools may or must be called.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(untagged, expecting = "a word or an object is needed")]
pub enum ToolChoice {
    /// `auto`, `none` or `required`.
    Word(String),
    /// Some of them.
    Chosen(Chosen),
}

/// Some of the tools.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self", rename_all = "snake_case", tag = "type")]
pub enum Chosen {
    /// Any of these.
    AllowedTools {
        /// `auto` or `required`.
        mode: String,
        /// Their types and names.
        tools: Vec<Map<String, Value>>,
    },
    /// This one, which takes text.
    Custom {
        /// Its name.
        name: String,
    },
    /// This one.
    Function {
        /// Its name.
        name: String,
    },
    /// One of the vendor's.
    #[serde(untagged)]
    Other(Map<String, Value>),
}

/// How to reason.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct ReasoningConfig {
    /// `none`, `minimal`, `low`, `medium`, `high`, `xhigh` or `max`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// `auto`, `concise` or `detailed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Every other field.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The form and length of the answer.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct TextConfig {
    /// The form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<TextFormat>,
    /// `low`, `medium` or `high`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verbosity: Option<String>,
    /// Every other field.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The form of the answer.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self", rename_all = "snake_case", tag = "type")]
pub enum TextFormat {
    /// Any JSON object.
    JsonObject {},
    /// JSON of a schema.
    JsonSchema {
        /// What it is, for the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        /// Its name.
        name: String,
        /// The schema.
        schema: Value,
        /// Whether the vendor holds the model to it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        strict: Option<bool>,
    },
    /// Words.
    Text {},
}

jackfield_dialect_kit::objects!(Chosen, TextFormat, ToolFormat,);
