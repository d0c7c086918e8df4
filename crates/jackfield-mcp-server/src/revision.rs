//! What a client can read, by the revision of the protocol that it speaks.
//!
//! Clients refuse a result whole in which one part is of a kind that they do not know.

use rmcp::model::ProtocolVersion;

/// What one request's revision knows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Revision {
    /// Whether it begins with a handshake: structured content is an object then, and nothing else.
    pub(crate) legacy: bool,
    /// Links to resources, in outcomes (as of 2025-06-18).
    pub(crate) links: bool,
    /// Sound (as of 2025-03-26).
    pub(crate) sound: bool,
}

impl Revision {
    /// Without a word of it, the newest that begins with a handshake.
    pub(crate) fn of(version: Option<&ProtocolVersion>) -> Self {
        let at_least = |first: &ProtocolVersion| version.is_none_or(|version| version >= first);
        Self {
            legacy: version.is_none_or(ProtocolVersion::has_initialize),
            links: at_least(&ProtocolVersion::V_2025_06_18),
            sound: at_least(&ProtocolVersion::V_2025_03_26),
        }
    }
}
