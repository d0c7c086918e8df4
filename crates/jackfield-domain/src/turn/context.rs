//! What a turn sends to models, and to which: revealed tools, the model, a backend's session.

use std::sync::Arc;

use super::{Definitions, Turn};
use crate::request::ModelRef;
use crate::tool::{Catalog, CatalogEntry};

impl Turn {
    /// The provider's id of its own session for the turn, if it keeps one.
    #[must_use]
    pub const fn backend_session(&self) -> Option<&Arc<str>> {
        self.backend_session.as_ref()
    }

    /// The model that was called last; before the first call, the model of the first target.
    #[must_use]
    pub fn model(&self) -> &ModelRef {
        let model = self.setup.model_of(self.target);
        model.unwrap_or(&self.setup.model)
    }

    /// Adds revealed tools to the catalog. A tool that the catalog has already stays as it is, unless it is deferred.
    pub(super) fn apply_revealed(&mut self, revealed: &Catalog) {
        let setup = Arc::make_mut(&mut self.setup);
        let is_revealed = |tool: &CatalogEntry| {
            tool.is_deferred() && revealed.tool(tool.definition.name.as_str()).is_some()
        };
        let own = setup.catalog.iter().filter(|tool| !is_revealed(tool));
        setup.catalog = Arc::new(revealed.iter().chain(own).cloned().collect());
        self.tools = Definitions::default();
    }
}
