//! The features of a protocol revision that results depend on.
//!
//! Clients reject a whole result if one of its parts is of an unknown kind.

use rmcp::model::ProtocolVersion;

/// The features of a request's revision.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Revision {
    /// Whether it begins with a handshake. Structured content must be an object then.
    pub(crate) legacy: bool,
    /// Resource links in results (since 2025-06-18).
    pub(crate) links: bool,
    /// Audio (since 2025-03-26).
    pub(crate) sound: bool,
}

impl Revision {
    /// The features of a version. Without one, those of the newest revision with a handshake.
    pub(crate) fn of(version: Option<&ProtocolVersion>) -> Self {
        let at_least = |first: &ProtocolVersion| version.is_none_or(|version| version >= first);
        Self {
            legacy: version.is_none_or(ProtocolVersion::has_initialize),
            links: at_least(&ProtocolVersion::V_2025_06_18),
            sound: at_least(&ProtocolVersion::V_2025_03_26),
        }
    }
}
