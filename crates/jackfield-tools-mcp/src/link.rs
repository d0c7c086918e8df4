//! A link to a server: messages go out and come in, whatever carries them.

use std::io;
use std::pin::Pin;

use async_trait::async_trait;
use jackfield_ports::call_context::CallContext;
use rmcp::model::{RequestId, ServerPeerInfo};

use crate::era::Era;
use crate::failure::LinkFailure;
use crate::mark::RequestMark;
use crate::message::ReadMessage;
use crate::mirrored::MirroredArguments;

/// A link to one server. Dropping it ends it, without waiting.
#[async_trait]
pub(crate) trait Link: Send + Sync {
    /// What to do about a server behind such a link.
    fn advice(&self) -> &'static LinkAdvice;

    /// The handshake has found the era and the revision of the server.
    fn settle(&mut self, _era: Era, _peer: &ServerPeerInfo) {}

    /// The id of the session that the handshake began, if the link has sessions with ids.
    fn session(&self) -> Option<String> {
        None
    }

    /// Queues a message at once, and must be called within a runtime. The future completes when the message was
    /// written, and need not be polled.
    fn send(&mut self, message: Outgoing) -> Written;

    /// The next event; `None` at the end of the link, which comes after the last answer if the server has forgotten the
    /// session. Cancel safe.
    async fn receive(&mut self) -> Option<LinkEvent>;

    /// Whether the server has read any message, if that can be told.
    async fn was_read(&self) -> Option<bool> {
        None
    }

    /// Ends the link within a short time.
    async fn close(&mut self);
}

/// The end of the write of one message.
pub(crate) type Written = Pin<Box<dyn Future<Output = io::Result<()>> + Send>>;

/// A message to the server.
pub(crate) struct Outgoing {
    pub(crate) bytes: Vec<u8>,
    /// The call that it begins or continues.
    pub(crate) call: CallContext,
    /// What a call repeats of its arguments in headers, where there are any.
    pub(crate) mirrored: MirroredArguments,
    /// The mark of a request that may be withdrawn.
    pub(crate) mark: Option<RequestMark>,
}

impl Outgoing {
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        Self::of_call(bytes, CallContext::default())
    }

    /// A reply to a question of this call.
    pub(crate) fn of_call(bytes: Vec<u8>, call: CallContext) -> Self {
        Self {
            bytes,
            call,
            mark: None,
            mirrored: MirroredArguments::default(),
        }
    }
}

#[derive(Debug)]
pub(crate) enum LinkEvent {
    /// A request has no answer, and gets none.
    Failed {
        id: RequestId,
        failure: Box<LinkFailure>,
    },
    /// A message of the server.
    Message(ReadMessage),
    /// A line for the server's log.
    Note(Vec<u8>),
    /// The server has forgotten the session, and said so outside of all requests.
    SessionLost,
}

impl LinkEvent {
    /// Whether the server has forgotten the session.
    pub(crate) fn is_loss_of_session(&self) -> bool {
        match self {
            Self::Failed { failure, .. } => failure.session_lost,
            Self::Message(_) | Self::Note(_) => false,
            Self::SessionLost => true,
        }
    }
}

/// Advice about a server, by the kind of its link.
#[derive(Debug)]
pub(crate) struct LinkAdvice {
    /// For a server that has ended.
    pub(crate) ended: &'static str,
    /// For a server that does not speak the protocol.
    pub(crate) not_a_server: &'static str,
}

/// The advice about a process.
pub(crate) const OF_A_PROCESS: LinkAdvice = LinkAdvice {
    ended: "run the command by hand, or look at what it said on standard error",
    not_a_server: "check that this command starts an MCP server over standard input and output",
};
/// The advice about an endpoint.
pub(crate) const OF_AN_ENDPOINT: LinkAdvice = LinkAdvice {
    ended: "check that the server runs",
    not_a_server: "check that its `url` is that of an MCP server over Streamable HTTP; the path is often `/mcp`",
};
