//! The models that a provider lists.

use std::sync::Arc;

use serde_json::{Map, Value};

/// A model, as its provider lists it. `None` means that the provider does not say.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ListedModel {
    /// The context size in tokens, including the reply.
    pub context: Option<u64>,
    /// When it was created, in seconds since 1970.
    pub created: Option<u64>,
    /// Its name in requests.
    pub id: Arc<str>,
    /// Other fields of the provider, unchanged.
    pub more: Map<String, Value>,
    /// Its display name.
    pub name: Option<Arc<str>>,
    /// The maximum number of output tokens.
    pub output: Option<u64>,
    /// Its owner.
    pub owner: Option<Arc<str>>,
}

impl ListedModel {
    /// A model of which only the name is known.
    #[must_use]
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self {
            context: None,
            created: None,
            id: id.into(),
            more: Map::new(),
            name: None,
            output: None,
            owner: None,
        }
    }
}
