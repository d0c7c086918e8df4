//! Callers: the client of a turn, as recorded, and how the turn is displayed to it.

pub mod tags;

use std::sync::Arc;

use crate::digest::Digest;

/// The client of a turn, as recorded when the turn began.
///
/// Recorded with the turn, so that a client that reconnects for the answer gets the same reply, and so that the
/// client's next request finds the session.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Caller {
    /// The digest of the request's body, by which a retry is recognised.
    pub body: Option<Digest>,
    /// The dialect that the client speaks, such as `claude`.
    pub dialect: Arc<str>,
    /// How the turn is displayed to it.
    pub display: Display,
    /// The parts of the request that its reply repeats, as JSON; only the dialect reads it.
    pub echo: Option<Arc<str>>,
    /// The idempotency key that it sent.
    pub key: Option<Arc<str>>,
    /// The model, by the client's name for it.
    pub model: Arc<str>,
    /// The owner of the session: no other principal finds it. Never a secret.
    pub principal: Arc<str>,
    /// The key of the client's conversation including the opening of the turn: the last of
    /// [`chain`](crate::locate::chain). `None` if the client does not keep the conversation; its session is
    /// then found by id only.
    pub view: Option<Digest>,
}

/// The parts of a later request of a turn that its reply repeats. Those of the request that began the turn are
/// in the turn's [`Caller`].
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Repeats {
    /// The repeated parts, as JSON; only the dialect reads it.
    pub echo: Arc<str>,
    /// The model, by the client's name for it.
    pub model: Arc<str>,
}

/// How a turn is displayed to a client.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Display {
    /// Whether client tool calls are streamed while the model writes them. A streamed call cannot be taken
    /// back: the turn ends if it turns out that the client must not run the call.
    pub calls_as_written: bool,
    /// Whether server tool calls are displayed, with their outcomes.
    pub server_tools: bool,
}
