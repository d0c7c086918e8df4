//! The list of models.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One page of the list (`GET /v1/models`).
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct ModelList {
    /// The models, the newest first.
    pub data: Vec<Model>,
    /// Whether there are more after these.
    #[serde(default)]
    pub has_more: bool,
    /// The cursor of the next page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_id: Option<String>,
}

/// One model of the list.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Model {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    pub id: String,
    /// The input limit in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_input_tokens: Option<u64>,
    /// The output limit in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A page of the list in the form for a client.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ServedModelList {
    pub data: Vec<ServedModel>,
    /// Whether there are more models in this direction.
    pub has_more: bool,
    /// The id of the first model.
    pub first_id: Option<String>,
    /// The id of the last model.
    pub last_id: Option<String>,
}

/// One model in the form for a client.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ServedModel {
    /// Always `model`.
    #[serde(rename = "type")]
    pub kind: String,
    pub id: String,
    pub display_name: String,
    /// The release date; 1970 if unknown.
    pub created_at: String,
    /// `active`, `deprecated` or `retired`.
    pub lifecycle: String,
    /// The input limit in tokens.
    pub max_input_tokens: Option<u64>,
    /// The output limit in tokens.
    pub max_tokens: Option<u64>,
    /// Other fields of the provider, such as `capabilities`.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}
