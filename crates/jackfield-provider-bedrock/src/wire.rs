//! Converse's types: fields only, no logic. Unknown fields of replies are ignored.

use jackfield_dialect_kit::outgoing::names::NameForm;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The body of `POST /model/MODEL/converse`, and of `converse-stream`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub system: Vec<ContentBlock>,
    pub messages: Vec<Message>,
    /// Settings that all models have.
    pub inference_config: InferenceConfig,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_config: Option<ToolConfig>,
    /// Settings of the model's own.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub additional_model_request_fields: Map<String, Value>,
    /// Fields of the model's own reply that are to be in this one, as JSON pointers.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub additional_model_response_field_paths: &'static [&'static str],
    /// The form of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_config: Option<OutputConfig>,
    /// The price and speed class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_tier: Option<ServiceTier>,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Settings that all models have.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InferenceConfig {
    /// The most tokens of the reply; without it, the model's maximum is reserved of the account's quota.
    pub max_tokens: u32,
    /// Texts that end the reply.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop_sequences: Vec<String>,
    /// Sampling temperature, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Samples from the likeliest tokens with this total probability, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
}

/// One message of the conversation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Message {
    pub role: Role,
    pub content: Vec<ContentBlock>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    Assistant,
    /// The system, amid the conversation.
    System,
    /// The user, and the tools.
    User,
}

/// A block of a message, of the system prompt, or of a result.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ContentBlock {
    /// What stands before it may be cached.
    CachePoint(CachePoint),
    Document(Document),
    Image(Image),
    ReasoningContent(Reasoning),
    Text(String),
    /// The result of a call.
    ToolResult(ToolResult),
    ToolUse(ToolUse),
}

#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct CachePoint {
    /// `default`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Its lifetime: `5m` or `1h`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Document {
    /// Its format, such as `pdf`.
    pub format: &'static str,
    /// Its name, which no other document of the request has.
    pub name: String,
    pub source: Source,
    /// What the model should know of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// Whether the model cites it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub citations: Option<Citations>,
}

/// Whether the model cites a document.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub struct Citations {
    pub enabled: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Image {
    /// Its format, such as `png`.
    pub format: &'static str,
    pub source: Source,
}

/// The contents of a medium.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// Bytes in base64.
    Bytes(String),
    Text(String),
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Reasoning {
    ReasoningText(ReasoningText),
    /// Encrypted, in base64.
    RedactedContent(String),
}

#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct ReasoningText {
    #[serde(default)]
    pub text: String,
    /// What proves that it is the model's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

/// A call in a request.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolUse {
    pub tool_use_id: String,
    pub name: String,
    pub input: Map<String, Value>,
}

/// The result of a call.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    /// The id of the call.
    pub tool_use_id: String,
    pub content: Vec<ContentBlock>,
    /// `error`, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<&'static str>,
}

/// The tools, and the choice among them.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolConfig {
    pub tools: Vec<ToolItem>,
    /// The choice; the model decides without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
}

/// An item of the list of tools.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ToolItem {
    /// The tools before it may be cached.
    CachePoint(CachePoint),
    ToolSpec(ToolSpec),
}

/// The definition of a tool.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolSpec {
    pub name: String,
    /// A description for the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The form of the arguments.
    pub input_schema: InputSchema,
    /// Whether the model is held to the form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strict: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InputSchema {
    pub json: Value,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ToolChoice {
    /// The model must call some tool.
    Any {},
    /// The model must call this tool.
    Tool { name: String },
}

/// The form of the answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OutputConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text_format: Option<TextFormat>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TextFormat {
    /// `json_schema`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub structure: Structure,
}

/// What a text is held to.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Structure {
    pub json_schema: JsonSchema,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JsonSchema {
    /// The schema, as JSON text.
    pub schema: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// A description for the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// A price and speed class.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct ServiceTier {
    #[serde(rename = "type")]
    pub kind: String,
}

/// The data of an event; its name says which fields it has.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// Fields of the model's own reply.
    #[serde(default)]
    pub additional_model_response_fields: Value,
    /// The block that the event belongs to.
    #[serde(default)]
    pub content_block_index: Option<u32>,
    /// A piece of a block.
    #[serde(default)]
    pub delta: Option<BlockDelta>,
    #[serde(default)]
    pub start: Option<ReplyBlock>,
    /// The tier that served the reply, beside its usage.
    #[serde(default)]
    pub service_tier: Option<Value>,
    #[serde(default)]
    pub stop_reason: Option<String>,
    #[serde(default)]
    pub usage: Option<TokenUsage>,
}

/// A piece of a block.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct BlockDelta {
    /// A source of the text.
    #[serde(default)]
    pub citation: Option<Value>,
    #[serde(default)]
    pub reasoning_content: Option<ReasoningDelta>,
    #[serde(default)]
    pub text: Option<String>,
    #[serde(default)]
    pub tool_use: Option<InputDelta>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct ReasoningDelta {
    /// Encrypted reasoning, in base64.
    #[serde(default)]
    pub redacted_content: Option<String>,
    #[serde(default)]
    pub signature: Option<String>,
    #[serde(default)]
    pub text: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
pub struct InputDelta {
    /// More of their JSON text.
    #[serde(default)]
    pub input: Option<String>,
}

/// A reply that comes as one document.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct ConverseResponse {
    /// Fields of the model's own reply.
    #[serde(default)]
    pub additional_model_response_fields: Value,
    pub output: Output,
    pub stop_reason: String,
    #[serde(default)]
    pub service_tier: Option<Value>,
    #[serde(default)]
    pub usage: Option<TokenUsage>,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct Output {
    pub message: ReplyMessage,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct ReplyMessage {
    #[serde(default)]
    pub content: Option<Vec<ReplyBlock>>,
}

/// A block of a reply, or the start of one.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct ReplyBlock {
    /// Text with sources.
    #[serde(default)]
    pub citations_content: Option<CitedText>,
    #[serde(default)]
    pub reasoning_content: Option<ReplyReasoning>,
    #[serde(default)]
    pub text: Option<String>,
    #[serde(default)]
    pub tool_use: Option<CallStart>,
}

/// Text with sources.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
pub struct CitedText {
    /// The sources.
    #[serde(default)]
    pub citations: Option<Vec<Value>>,
    #[serde(default)]
    pub content: Option<Vec<ReplyBlock>>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct ReplyReasoning {
    #[serde(default)]
    pub reasoning_text: Option<ReasoningText>,
    /// Encrypted, in base64.
    #[serde(default)]
    pub redacted_content: Option<String>,
}

/// A call of a reply.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct CallStart {
    /// The arguments, if the reply is one document.
    #[serde(default)]
    pub input: Option<Value>,
    /// `server_tool_use`, if the provider runs it.
    #[serde(default, rename = "type")]
    pub kind: Option<String>,
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub tool_use_id: Option<String>,
}

/// The tokens of a reply; those of the cache are not among the input.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct TokenUsage {
    /// The input written to the cache by the time that it is kept.
    pub cache_details: Option<Value>,
    /// Input read from the cache.
    #[serde(deserialize_with = "jackfield_dialect_kit::whole_number::optional")]
    pub cache_read_input_tokens: Option<u64>,
    /// Input written to the cache.
    #[serde(deserialize_with = "jackfield_dialect_kit::whole_number::optional")]
    pub cache_write_input_tokens: Option<u64>,
    #[serde(deserialize_with = "jackfield_dialect_kit::whole_number::optional")]
    pub input_tokens: Option<u64>,
    #[serde(deserialize_with = "jackfield_dialect_kit::whole_number::optional")]
    pub output_tokens: Option<u64>,
}

/// The body of an error, or the data of an exception.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
pub struct ErrorBody {
    /// The error's name, by some services in front.
    #[serde(default, rename = "__type")]
    pub kind: Option<String>,
    #[serde(default, alias = "Message")]
    pub message: Option<String>,
    /// What the model's own server said.
    #[serde(default, rename = "originalMessage")]
    pub original_message: Option<String>,
}

/// The names of tools that Converse takes.
pub(crate) const NAMES: NameForm = NameForm {
    begins_with_letter: false,
    further: "",
    longest: 64,
};
