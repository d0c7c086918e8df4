//! The key by which OpenAI finds the cache of a conversation.

use jackfield_dialect_kit::outgoing::cache_points::conversation_key;
use jackfield_domain::opaque::Extension;
use jackfield_domain::request::ModelRequest;
use serde_json::{Map, Value};

use crate::profile::{Profile, fields};

/// Adds the key of the conversation to the fields of a body, unless the client has set its own.
pub(crate) fn add_cache_key(
    extra: &mut Map<String, Value>,
    request: &ModelRequest,
    profile: &Profile,
) {
    if profile.cache_key
        && !extra.contains_key(fields::CACHE_KEY)
        && let Some(key) = conversation_key(request, profile.cache)
    {
        extra.insert(fields::CACHE_KEY.to_owned(), key.into());
    }
}

/// Whether there is a key of the conversation that the client has not set.
pub(crate) fn has_cache_key(extra: &Map<String, Value>, request: &ModelRequest) -> bool {
    let mut extensions = request.settings.extensions.iter();
    let is_it = |extension: &Extension| extension.path.strip_prefix('/') == Some(fields::CACHE_KEY);
    extra.contains_key(fields::CACHE_KEY) && !extensions.any(is_it)
}
