//! The list of models.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One page of the list (`GET /v1beta/models`).
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self", rename_all = "camelCase")]
pub struct ModelList {
    /// The models.
    #[serde(default)]
    pub models: Vec<Model>,
    /// The models, as Vertex AI names the field (`GET /v1beta1/publishers/google/models`).
    #[serde(default, skip_serializing)]
    pub publisher_models: Vec<Model>,
    /// The cursor of the next page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_page_token: Option<String>,
}

/// One model of the list.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Model {
    /// The id for requests, below `models/`.
    pub name: String,
    /// The name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// The input limit in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_token_limit: Option<u64>,
    /// The output limit in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_token_limit: Option<u64>,
    /// The methods that it has, such as `generateContent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supported_generation_methods: Option<Vec<String>>,
    /// All other fields.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A page of the list in the form for a client.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServedModelList {
    /// The models.
    pub models: Vec<ServedModel>,
    /// The cursor of the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_page_token: Option<String>,
}

/// One model in the form for a client.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServedModel {
    /// The id for requests, below `models/`.
    pub name: String,
    /// The name for people.
    pub display_name: String,
    /// The version, which the vendor always names.
    pub version: String,
    /// The input limit in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_token_limit: Option<u64>,
    /// The output limit in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_token_limit: Option<u64>,
    /// The methods that it has.
    pub supported_generation_methods: Vec<String>,
}

jackfield_dialect_kit::objects!(ModelList);
