//! The body of `POST /v1/chat/completions`.

use jackfield_dialect_kit::form::{Fields, text_or_list, word_or_object};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::message::Message;
use super::tool::{Function, Tool};

/// The body.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Request {
    /// The model.
    pub model: String,
    /// The conversation, with the system prompt at its beginning.
    pub messages: Vec<Message>,
    /// The tools; never an empty list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<Tool>>,
    /// Which of them may or must be called; only beside tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    /// Whether several calls may come at once; only beside tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallel_tool_calls: Option<bool>,
    /// The tools, before there were others than functions; read only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub functions: Option<Vec<Function>>,
    /// Which of the functions may or must be called; read only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function_call: Option<ToolChoice>,
    /// The form of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_format: Option<ResponseFormat>,
    /// The most tokens of the reply, reasoning included.
    #[serde(
        default,
        deserialize_with = "jackfield_dialect_kit::whole::optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub max_completion_tokens: Option<u64>,
    /// The same, deprecated; what most compatible servers read.
    #[serde(
        default,
        deserialize_with = "jackfield_dialect_kit::whole::optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub max_tokens: Option<u64>,
    /// `none`, `minimal`, `low`, `medium`, `high`, `xhigh` or `max`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<String>,
    /// `low`, `medium` or `high`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verbosity: Option<String>,
    /// 0 to 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Some compatible servers'.
    #[serde(
        default,
        deserialize_with = "jackfield_dialect_kit::whole::optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub top_k: Option<u32>,
    /// -2 to 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frequency_penalty: Option<f64>,
    /// -2 to 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub presence_penalty: Option<f64>,
    /// For sampling that can be repeated.
    #[serde(
        default,
        deserialize_with = "jackfield_dialect_kit::whole::optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub seed: Option<i64>,
    /// Texts that end the reply; at most four.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop>,
    /// A price and speed class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_tier: Option<String>,
    /// A name of the end user that tells nothing about the person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub safety_identifier: Option<String>,
    /// The same, deprecated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Whether the reply is to come as events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<bool>,
    /// What the events are to hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream_options: Option<StreamOptions>,
    /// Every other field.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Which tools may or must be called.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(
    remote = "Self",
    untagged,
    expecting = "`none`, `auto`, `required` or a tool is needed"
)]
pub enum ToolChoice {
    /// `none`, `auto` or `required`; `any` is Mistral's word for the last one.
    Mode(String),
    /// Only these.
    AllowedTools {
        /// Always `allowed_tools`.
        #[serde(rename = "type")]
        kind: String,
        /// Which.
        allowed_tools: AllowedTools,
    },
    /// This one, which takes free text.
    Custom {
        /// Always `custom`.
        #[serde(rename = "type")]
        kind: String,
        /// Which.
        custom: ToolName,
    },
    /// This function.
    Function {
        /// Always `function`.
        #[serde(rename = "type")]
        kind: String,
        /// Which.
        function: ToolName,
    },
    /// This function, before there were other tools; read only.
    Named(ToolName),
}

impl<'de> Fields<'de> for ToolChoice {
    fn read<D: Deserializer<'de>>(fields: D) -> Result<Self, D::Error> {
        Self::deserialize(fields)
    }
}

impl<'de> Deserialize<'de> for ToolChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = "`none`, `auto`, `required` or a tool";
        word_or_object(deserializer, expected, Self::Mode)
    }
}

impl Serialize for ToolChoice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

/// A tool by its name.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(remote = "Self")]
pub struct ToolName {
    /// The name.
    pub name: String,
}

/// A subset of the tools.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self")]
pub struct AllowedTools {
    /// `auto` or `required`.
    pub mode: String,
    /// The tools, each as a choice of it would name it.
    pub tools: Vec<ToolChoice>,
}

/// The form of an answer.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self", rename_all = "snake_case", tag = "type")]
pub enum ResponseFormat {
    /// Any JSON object.
    JsonObject {
        /// llama.cpp's way to give a schema.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        schema: Option<Value>,
    },
    /// JSON of a schema.
    JsonSchema {
        /// Which.
        json_schema: JsonSchema,
    },
    /// Words.
    Text {},
}

/// A schema with a name.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self")]
pub struct JsonSchema {
    /// At most 64 of `[A-Za-z0-9_-]`.
    pub name: String,
    /// What it is, for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// Whether the vendor holds the model to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strict: Option<bool>,
}

/// Texts that end the reply.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Stop {
    /// One.
    One(String),
    /// Several.
    Several(Vec<String>),
}

impl<'de> Deserialize<'de> for Stop {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        text_or_list(
            deserializer,
            "a text or a list of texts",
            Self::One,
            Self::Several,
        )
    }
}

/// What the events of a reply are to hold.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct StreamOptions {
    /// Whether a last chunk says what was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include_usage: Option<bool>,
    /// Every other field.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

jackfield_dialect_kit::objects!(AllowedTools, JsonSchema, ResponseFormat, ToolName,);
