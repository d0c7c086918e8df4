//! The body of an error (`google.rpc.Status`).

use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self")]
pub struct ErrorBody {
    pub error: ErrorDetail,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self")]
pub struct ErrorDetail {
    #[serde(default)]
    pub code: Option<u16>,
    #[serde(default)]
    pub message: String,
    /// The name of the error, such as `INVALID_ARGUMENT`.
    #[serde(default)]
    pub status: Option<String>,
    /// Details, each with its type in `@type`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<Value>,
}

jackfield_dialect_kit::objects!(ErrorBody, ErrorDetail);
