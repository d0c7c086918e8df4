//! Digests of definitions: a caller brings the same tools with every turn.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use jackfield_domain::digest::Digest;
use jackfield_domain::tool::ToolDefinition;

/// The digests of definitions that are held somewhere still, by their place in memory. As long as an entry is
/// here, its place is not given to another definition.
#[derive(Default)]
pub(crate) struct Digests(Mutex<HashMap<usize, (Weak<ToolDefinition>, Digest)>>);

impl Digests {
    /// The digest of a definition, which is made if it is not known.
    pub(crate) fn of(
        &self,
        definition: &Arc<ToolDefinition>,
        make: impl FnOnce() -> Digest,
    ) -> Digest {
        let place = Arc::as_ptr(definition).addr();
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, digest)) = known().get(&place) {
            return *digest;
        }
        let digest = make();
        let mut known = known();
        if known.len() >= MOST {
            known.retain(|_, (definition, _)| definition.strong_count() > 0);
            if known.len() >= MOST {
                known.clear();
            }
        }
        known.insert(place, (Arc::downgrade(definition), digest));
        digest
    }
}

impl fmt::Debug for Digests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Digests").finish_non_exhaustive()
    }
}

/// How many are kept.
const MOST: usize = 1024;
