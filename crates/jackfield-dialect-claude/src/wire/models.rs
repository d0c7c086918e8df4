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
    /// What the next page comes after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_id: Option<String>,
}

/// One model of the list.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Model {
    /// When it came out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
    /// Its name in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// The name that it is asked by.
    pub id: String,
    /// How many tokens it reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_input_tokens: Option<u64>,
    /// How many tokens it writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Everything else.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A page of the list, for a client.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ServedModelList {
    /// The models.
    pub data: Vec<ServedModel>,
    /// Whether there are more in this direction.
    pub has_more: bool,
    /// The first of the page.
    pub first_id: Option<String>,
    /// The last of the page.
    pub last_id: Option<String>,
}

/// One model, for a client.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ServedModel {
    /// Always `model`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The name that it is asked by.
    pub id: String,
    /// Its name in words.
    pub display_name: String,
    /// When it came out; 1970 where that is not known.
    pub created_at: String,
    /// `active`, `deprecated` or `retired`.
    pub lifecycle: String,
    /// How many tokens it reads.
    pub max_input_tokens: Option<u64>,
    /// How many tokens it writes.
    pub max_tokens: Option<u64>,
}
