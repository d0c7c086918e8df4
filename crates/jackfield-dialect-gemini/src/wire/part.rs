//! The content of a conversation, and its parts.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One turn of a conversation, or the system instruction.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self")]
pub struct Content {
    /// The author: `user` or `model`; `user` if it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    #[serde(default)]
    pub parts: Option<Vec<Part>>,
}

/// One part of a content. At most one field holds data; the others describe it.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Part {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Whether the text is a summary of the model's reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thought: Option<bool>,
    /// Inline bytes.
    #[serde(
        alias = "inline_data",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub inline_data: Option<Blob>,
    /// Bytes at an address.
    #[serde(alias = "file_data", default, skip_serializing_if = "Option::is_none")]
    pub file_data: Option<FileData>,
    #[serde(
        alias = "function_call",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub function_call: Option<FunctionCall>,
    /// The result of a call.
    #[serde(
        alias = "function_response",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub function_response: Option<FunctionResponse>,
    /// State that the model needs back on this very part.
    #[serde(
        alias = "thought_signature",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub thought_signature: Option<String>,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Inline bytes.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self", rename_all = "camelCase")]
pub struct Blob {
    #[serde(alias = "mime_type")]
    pub mime_type: String,
    /// The bytes in base64.
    #[serde(default)]
    pub data: String,
}

/// Bytes at an address.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self", rename_all = "camelCase")]
pub struct FileData {
    #[serde(alias = "mime_type", default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// A web address, or that of an uploaded file.
    #[serde(alias = "file_uri")]
    pub file_uri: String,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self")]
pub struct FunctionCall {
    /// Its id; older models have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Value>,
}

/// The result of a call.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self")]
pub struct FunctionResponse {
    /// The id of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    pub name: String,
    /// The result, an object: under `output` or `error`, or as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<Vec<Part>>,
}

jackfield_dialect_kit::objects!(Blob, Content, FileData, FunctionCall, FunctionResponse);
