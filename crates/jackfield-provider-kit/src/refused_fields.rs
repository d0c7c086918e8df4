//! The fields that a server has refused, of those that an adapter or a gateway adds to requests by itself.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock};

/// The refused fields of a server's models, which are left out of later requests. Kept in memory; clones share it.
#[derive(Clone, Debug, Default)]
pub struct RefusedFields(Arc<RwLock<BTreeMap<Box<str>, BTreeSet<&'static str>>>>);

impl RefusedFields {
    /// The refused fields of this model.
    #[must_use]
    pub fn of(&self, model: &str) -> Vec<&'static str> {
        let models = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let fields = models.get(model).into_iter().flatten();
        fields.copied().collect()
    }

    /// Adds a field that is refused with this model.
    pub fn add(&self, model: &str, field: &'static str) {
        let mut models = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let has_room = models.len() < MAX_MODELS && model.len() <= MAX_NAME;
        if !has_room && !models.contains_key(model) {
            return;
        }
        if models.entry(model.into()).or_default().insert(field) {
            tracing::warn!(
                model,
                field,
                "the server refuses a field of ours, which is left out from now on"
            );
        }
    }
}

/// The most models whose fields are kept: clients name them.
const MAX_MODELS: usize = 1000;
/// The longest name of such a model, in bytes.
const MAX_NAME: usize = 256;
