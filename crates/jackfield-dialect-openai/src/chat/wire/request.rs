//! The body of `POST /v1/chat/completions`.

use jackfield_dialect_kit::form::{Fields, text_or_list, word_or_object};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::message::Message;
use super::tool::{Function, Tool};

/// The body of a request.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Request {
    pub model: String,
    /// The conversation, with the system prompt at its beginning.
    pub messages: Vec<Message>,
    /// The tools; never an empty list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<Tool>>,
    /// The tool choice; only beside tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    /// Whether one reply may hold several calls; only beside tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallel_tool_calls: Option<bool>,
    /// The legacy form of tools; only read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub functions: Option<Vec<Function>>,
    /// The legacy form of the tool choice; only read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function_call: Option<ToolChoice>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_format: Option<ResponseFormat>,
    /// The most tokens of the reply, reasoning included.
    #[serde(
        default,
        deserialize_with = "jackfield_dialect_kit::whole_number::optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub max_completion_tokens: Option<u64>,
    /// The deprecated form of the limit, which most compatible servers read.
    #[serde(
        default,
        deserialize_with = "jackfield_dialect_kit::whole_number::optional",
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
    /// Top-k sampling, which some compatible servers have.
    #[serde(
        default,
        deserialize_with = "jackfield_dialect_kit::whole_number::optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub top_k: Option<u32>,
    /// -2 to 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frequency_penalty: Option<f64>,
    /// -2 to 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub presence_penalty: Option<f64>,
    /// The seed for repeatable sampling.
    #[serde(
        default,
        deserialize_with = "jackfield_dialect_kit::whole_number::optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub seed: Option<i64>,
    /// Texts that end the reply; at most four.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_tier: Option<String>,
    /// A pseudonymous id of the end user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub safety_identifier: Option<String>,
    /// The deprecated form of the end user's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Whether the reply is to be streamed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream_options: Option<StreamOptions>,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(
    remote = "Self",
    untagged,
    expecting = "`none`, `auto`, `required` or a tool is needed"
)]
pub enum ToolChoice {
    /// `none`, `auto` or `required`; Mistral's name for the last one is `any`.
    Mode(String),
    /// A subset of the tools.
    AllowedTools {
        /// Always `allowed_tools`.
        #[serde(rename = "type")]
        kind: String,
        allowed_tools: AllowedTools,
    },
    Custom {
        /// Always `custom`.
        #[serde(rename = "type")]
        kind: String,
        custom: ToolName,
    },
    Function {
        /// Always `function`.
        #[serde(rename = "type")]
        kind: String,
        function: ToolName,
    },
    /// One function in the legacy form; only read.
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

/// A reference to a tool by its name.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(remote = "Self")]
pub struct ToolName {
    pub name: String,
}

/// A subset of the tools.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self")]
pub struct AllowedTools {
    /// `auto` or `required`.
    pub mode: String,
    /// The tools, each in the form of a choice.
    pub tools: Vec<ToolChoice>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self", rename_all = "snake_case", tag = "type")]
pub enum ResponseFormat {
    JsonObject {
        /// llama.cpp's way to give a schema.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        schema: Option<Value>,
    },
    /// JSON that matches a schema.
    JsonSchema {
        json_schema: JsonSchema,
    },
    Text {},
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self")]
pub struct JsonSchema {
    /// At most 64 of `[A-Za-z0-9_-]`.
    pub name: String,
    /// A description for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// Whether the vendor enforces the schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strict: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Stop {
    One(String),
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

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct StreamOptions {
    /// Whether the last chunk has the usage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include_usage: Option<bool>,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

jackfield_dialect_kit::objects!(AllowedTools, JsonSchema, ResponseFormat, ToolName,);
