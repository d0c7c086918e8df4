//! Digests of definitions: a caller brings the same tools with every turn.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use hashlink::LruCache;
use jackfield_domain::digest::Digest;
use jackfield_domain::tool::ToolDefinition;

/// The digests of definitions, by their place in memory: as long as an entry is here, which holds on to it, the
/// place is not given to another definition.
pub(crate) struct Digests(Mutex<LruCache<usize, (Weak<ToolDefinition>, Digest)>>);

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
        known().insert(place, (Arc::downgrade(definition), digest));
        digest
    }
}

impl Default for Digests {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(MOST)))
    }
}

impl fmt::Debug for Digests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Digests").finish_non_exhaustive()
    }
}

/// How many are kept: those that were asked for last.
const MOST: usize = 1024;
