//! Which target of a route answered a conversation last, for conversations without a session.

use std::sync::Arc;
use std::time::Duration;

use hashlink::LruCache;
use jackfield_domain::digest::Digest;
use jackfield_domain::request::ModelRef;
use jackfield_domain::time::MonoTime;

/// The targets of the latest conversations of routes.
#[derive(Debug)]
pub(crate) struct RecentTargets(LruCache<RecentKey, RecentTarget>);

/// A conversation of a route, by how it begins.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) struct RecentKey {
    pub(crate) beginning: Digest,
    pub(crate) route: Arc<str>,
}

#[derive(Debug)]
struct RecentTarget {
    answered: MonoTime,
    model: ModelRef,
}

impl Default for RecentTargets {
    fn default() -> Self {
        Self(LruCache::new(MAX_CONVERSATIONS))
    }
}

impl RecentTargets {
    /// The target that answered this conversation last, unless its prompt cache will have dropped it by now.
    pub(crate) fn get(&mut self, key: &RecentKey, now: MonoTime) -> Option<&ModelRef> {
        let recent = self.0.get(key)?;
        (now.since(recent.answered) <= LIFETIME).then_some(&recent.model)
    }

    /// A target answered this conversation.
    pub(crate) fn set(&mut self, key: RecentKey, model: ModelRef, now: MonoTime) {
        let answered = now;
        self.0.insert(key, RecentTarget { answered, model });
    }
}

/// The most conversations that are known: about 2 MB.
const MAX_CONVERSATIONS: usize = 10_000;

/// How long a conversation stays. Claude's cache keeps a prompt for 5 minutes after its last use, or for an hour on
/// request (`cache_control.ttl`, API reference of 2026-11).
const LIFETIME: Duration = Duration::from_secs(10 * 60);
