//! The two eras of the protocol.

/// The era of the protocol that a server speaks.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Era {
    /// With a handshake: 2024-11-05 to 2025-11-25.
    Handshake,
    /// Without a handshake, each request stands alone: 2026-07-28 and later.
    Stateless,
}
