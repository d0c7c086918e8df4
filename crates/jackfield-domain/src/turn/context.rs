//! Changes of what a turn sends to models: revealed tools, and compaction.

use std::sync::Arc;

use super::{Definitions, Turn};
use crate::fact::Compaction;
use crate::message::Messages;
use crate::request::ModelRef;
use crate::tool::Catalog;

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

    /// Adds revealed tools to the catalog. A tool that the catalog has already stays as it is.
    pub(super) fn apply_revealed(&mut self, revealed: &Catalog) {
        let setup = Arc::make_mut(&mut self.setup);
        let own = setup.catalog.iter();
        setup.catalog = Arc::new(revealed.iter().chain(own).cloned().collect());
        self.tools = Definitions::default();
    }

    /// Replaces the beginning of the conversation. A compaction of more messages than there are changes nothing.
    pub(super) fn apply_compaction(&mut self, compaction: &Compaction) {
        if compaction.replaced > self.messages.len() {
            return;
        }
        let before = self.messages.history().len();
        let kept_before = before.saturating_sub(compaction.replaced);
        let kept = self.messages.iter().skip(compaction.replaced).cloned();
        let mut history = compaction.messages.clone();
        history.extend(kept.clone().take(kept_before));
        let mut messages = Messages::with_history(Arc::new(history));
        kept.skip(kept_before)
            .for_each(|message| messages.push(message));
        self.messages = messages;
        self.covered_messages = 0;
        self.tools = Definitions::default();
    }
}
