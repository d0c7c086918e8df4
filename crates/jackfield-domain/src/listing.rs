//! What a provider says that it has.

use std::sync::Arc;

/// A model, as its provider lists it. What the provider does not tell is `None`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ListedModel {
    /// How many tokens fit into a request and its reply.
    pub context: Option<u64>,
    /// The name that it is asked by.
    pub id: Arc<str>,
    /// Its name in words.
    pub name: Option<Arc<str>>,
    /// How many tokens a reply may have.
    pub output: Option<u64>,
}

impl ListedModel {
    /// A model of which nothing but the name is told.
    #[must_use]
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self {
            context: None,
            id: id.into(),
            name: None,
            output: None,
        }
    }
}
