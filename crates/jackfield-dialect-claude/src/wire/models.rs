//! The list of models.

use serde::{Deserialize, Serialize};

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
}
