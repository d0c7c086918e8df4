//! The list of models.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One page of the list (`GET /v1beta/models`).
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self", rename_all = "camelCase")]
pub struct ModelList {
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_token_limit: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_token_limit: Option<u64>,
    /// The methods that it has, such as `generateContent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supported_generation_methods: Option<Vec<String>>,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A page of the list in the form for a client.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServedModelList {
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
    pub display_name: String,
    /// The version, which the vendor always names.
    pub version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_token_limit: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_token_limit: Option<u64>,
    pub supported_generation_methods: Vec<String>,
    /// Other fields of the provider, such as `thinking`.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

jackfield_dialect_kit::objects!(ModelList);
