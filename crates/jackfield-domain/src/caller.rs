//! Callers: who a turn is for, where its client keeps the conversation itself, and how it is shown there.

use std::sync::Arc;

use crate::digest::Digest;

/// The client that a turn is for, as it stood when the turn began.
///
/// Recorded with the turn, so that whoever comes back for the answer is shown the same, and so that the
/// next request of the same client finds the session.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Caller {
    /// The digest of the request's body, by which a repeat is known.
    pub body: Option<Digest>,
    /// The dialect that the client speaks, such as `claude`.
    pub dialect: Arc<str>,
    /// How the turn is shown to it.
    pub display: Display,
    /// What its reply repeats of the request, as JSON; only the dialect reads it.
    pub echo: Option<Arc<str>>,
    /// The idempotency key that it sent.
    pub key: Option<Arc<str>>,
    /// The model, by the client's name for it.
    pub model: Arc<str>,
    /// Whose the session is: nobody else finds it. Never a secret.
    pub principal: Arc<str>,
    /// The key of the conversation as the client has it, with what opens the turn: the last of
    /// [`chain`](crate::locate::chain). None where the client does not keep the conversation; its
    /// session is found by an id alone, then.
    pub view: Option<Digest>,
}

/// What a reply repeats of a request that goes on with a turn: the request that began it stands in the turn's
/// [`Caller`].
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Repeats {
    /// What it repeats, as JSON; only the dialect reads it.
    pub echo: Arc<str>,
    /// The model, by the client's name for it.
    pub model: Arc<str>,
}

/// How a turn is shown to a client.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Display {
    /// Whether calls that the client is to run are shown while the model writes them. What was shown cannot
    /// be taken back: a turn ends whose call turns out to be one that nobody may be handed.
    pub calls_as_written: bool,
    /// Whether the calls that Jackfield runs itself are shown, with what came of them.
    pub server_tools: bool,
}
