//! Opaque state: data that a provider must get back unchanged, and its owner.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::digest::Digest;

/// The owner of opaque state, which is never sent to anyone else.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct StateOwner {
    /// The dialect, such as `claude`.
    pub dialect: Arc<str>,
    /// The server, as a URL without path, query or user information.
    pub endpoint: Arc<str>,
    /// The model.
    pub model: Arc<str>,
}

/// The scope of opaque state: the content that must be unchanged for the state to be sent back.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum StateScope {
    /// The block that it belongs to.
    Block,
    /// Everything before it, with this digest.
    Prefix(Digest),
    /// The whole reply that contained it.
    Reply,
}

/// State of a provider: a signature, an encrypted reasoning item, the provider's id of a call.
///
/// It is sent back unchanged to its owner, and withheld from others with a note.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct OpaqueState {
    /// The kind of state in the owner's dialect, such as `signature`.
    pub kind: Arc<str>,
    /// The value; only the owner's dialect reads it.
    pub json: Value,
    /// The owner.
    pub owner: StateOwner,
    /// The content that must be unchanged.
    pub scope: StateScope,
}

impl OpaqueState {
    /// The part of it that is known when its block begins: its `id`, if it has one, without the other fields.
    /// The id is the same while the block streams and when it is complete. A dialect puts there what a client needs
    /// before the content of the block.
    #[must_use]
    pub fn initial_state(&self) -> Option<Self> {
        let id = self.json.get("id")?.as_str().filter(|id| !id.is_empty())?;
        Some(Self {
            json: json!({ "id": id }),
            ..self.clone()
        })
    }
}

/// A field that one dialect has and the domain does not; it is sent only to that dialect.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Extension {
    /// The dialect.
    pub dialect: Arc<str>,
    /// Its location in the request, as a JSON Pointer (RFC 6901).
    pub path: String,
    /// The value.
    pub json: Value,
}
