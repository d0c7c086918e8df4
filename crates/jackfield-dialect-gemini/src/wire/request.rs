//! The body of `generateContent` and `streamGenerateContent`; the model is in the address.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::part::Content;

/// The body of a request.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    #[serde(
        alias = "system_instruction",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub system_instruction: Option<Content>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<Tool>>,
    #[serde(
        alias = "tool_config",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub tool_config: Option<ToolConfig>,
    #[serde(default)]
    pub contents: Vec<Content>,
    #[serde(
        alias = "generation_config",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub generation_config: Option<GenerationConfig>,
    /// The price and speed class.
    #[serde(
        alias = "service_tier",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub service_tier: Option<String>,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Tools: functions of the client, or one that the vendor runs.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Tool {
    #[serde(
        alias = "function_declarations",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub function_declarations: Option<Vec<FunctionDeclaration>>,
    /// The vendor's own tools, by their names.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FunctionDeclaration {
    pub name: String,
    /// A description for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The schema of the arguments in the form of OpenAPI; never written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Value>,
    /// The schema of the arguments.
    #[serde(
        alias = "parameters_json_schema",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub parameters_json_schema: Option<Value>,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolConfig {
    #[serde(
        alias = "function_calling_config",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub function_calling_config: Option<FunctionCallingConfig>,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self", rename_all = "camelCase")]
pub struct FunctionCallingConfig {
    /// `AUTO`, `ANY`, `NONE` or `VALIDATED`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// The functions that may be called; only with `ANY` and `VALIDATED`.
    #[serde(
        alias = "allowed_function_names",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub allowed_function_names: Option<Vec<String>>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GenerationConfig {
    /// Sampling temperature, 0 to 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Nucleus sampling, 0 to 1.
    #[serde(alias = "top_p", default, skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Samples from the k likeliest tokens.
    #[serde(
        alias = "top_k",
        default,
        deserialize_with = "jackfield_dialect_kit::whole_number::optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub top_k: Option<u32>,
    /// The most tokens of the reply, thoughts included.
    #[serde(
        alias = "max_output_tokens",
        default,
        deserialize_with = "jackfield_dialect_kit::whole_number::optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub max_output_tokens: Option<u32>,
    #[serde(
        alias = "stop_sequences",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub stop_sequences: Option<Vec<String>>,
    #[serde(
        alias = "presence_penalty",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub presence_penalty: Option<f64>,
    /// Penalizes repetition in proportion to frequency.
    #[serde(
        alias = "frequency_penalty",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub frequency_penalty: Option<f64>,
    #[serde(
        default,
        deserialize_with = "jackfield_dialect_kit::whole_number::optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub seed: Option<i64>,
    /// `text/plain` or `application/json`.
    #[serde(
        alias = "response_mime_type",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub response_mime_type: Option<String>,
    /// The schema of the answer in the form of OpenAPI; never written.
    #[serde(
        alias = "response_schema",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub response_schema: Option<Value>,
    /// The schema of the answer.
    #[serde(
        alias = "response_json_schema",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub response_json_schema: Option<Value>,
    #[serde(
        alias = "thinking_config",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub thinking_config: Option<ThinkingConfig>,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Settings of the thinking. A level and a budget exclude each other.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThinkingConfig {
    /// Whether summaries of the thoughts are returned.
    #[serde(
        alias = "include_thoughts",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub include_thoughts: Option<bool>,
    /// The most tokens of thoughts; 0 is off, -1 leaves it to the model.
    #[serde(
        alias = "thinking_budget",
        default,
        deserialize_with = "jackfield_dialect_kit::whole_number::optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub thinking_budget: Option<i64>,
    /// `MINIMAL`, `LOW`, `MEDIUM`, `HIGH` or `XHIGH`.
    #[serde(
        alias = "thinking_level",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub thinking_level: Option<String>,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

jackfield_dialect_kit::objects!(FunctionCallingConfig);
