//! What a provider says that it has.

use std::sync::Arc;

use serde_json::{Map, Value};

/// A model, as its provider lists it. What the provider does not tell is `None`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ListedModel {
    /// How many tokens fit into a request and its reply.
    pub context: Option<u64>,
    /// When it was made, in seconds since 1970.
    pub created: Option<u64>,
    /// The name that it is asked by.
    pub id: Arc<str>,
    /// What the provider says besides, in its own words.
    pub more: Map<String, Value>,
    /// Its name in words.
    pub name: Option<Arc<str>>,
    /// How many tokens a reply may have.
    pub output: Option<u64>,
    /// Whose it is.
    pub owner: Option<Arc<str>>,
}

impl ListedModel {
    /// A model of which nothing but the name is told.
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
