//! What a provider must get back untouched, and whose it is.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::digest::Digest;

/// Whose opaque state this is: nobody else may be sent it.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct StateOwner {
    /// The wire language, such as `claude`.
    pub dialect: Arc<str>,
    /// The server, as a URL without path, query or user information.
    pub endpoint: Arc<str>,
    /// The model.
    pub model: Arc<str>,
}

/// How far a piece of opaque state reaches: what has to be there unchanged for it to be sent back.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum StateScope {
    /// The block that it hangs on.
    Block,
    /// Everything before it, with this digest.
    Prefix(Digest),
    /// The whole reply that it came in.
    Reply,
}

/// State of a provider: a signature, an encrypted reasoning item, its own id of a call.
///
/// It goes back untouched to its owner, and is withheld with a note from anyone else.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct OpaqueState {
    /// What it is in the owner's language, such as `signature`.
    pub kind: Arc<str>,
    /// The value, which only the owner's dialect reads.
    pub json: Value,
    /// Whose it is.
    pub owner: StateOwner,
    /// What has to be unchanged around it.
    pub scope: StateScope,
}

impl OpaqueState {
    /// What is known of it when its block begins, if its value says what its owner calls the block: an object
    /// with that `id` and nothing else. It is the same while the block comes and when it is whole.
    #[must_use]
    pub fn begun(&self) -> Option<Self> {
        let id = self.json.get("id")?.as_str().filter(|id| !id.is_empty())?;
        Some(Self {
            json: json!({ "id": id }),
            ..self.clone()
        })
    }
}

/// A field that one dialect knows and the domain does not: sent to the same dialect only.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Extension {
    /// The dialect that knows it.
    pub dialect: Arc<str>,
    /// Where it belongs in the request, as a JSON Pointer (RFC 6901).
    pub path: String,
    /// The value.
    pub json: Value,
}
