//! What the author of an adapter tells the contract about the vendor.

use std::fmt;

use bytes::Bytes;
use jackfield_ports::chat_model::{Capabilities, ChatModel};

use super::{ScriptedFailure, ScriptedReply, WireReply};

/// How an adapter is set up, and how its vendor would put things on the wire.
///
/// The test kit owns the server, the scripts and the assertions.
/// Write the wire by hand, from the vendor's documentation and recorded bytes: what is rendered with
/// the adapter's own mappers proves only that they agree with themselves.
pub trait ChatModelHarness: Sync {
    /// The adapter.
    type Model: ChatModel + fmt::Debug;

    /// Sets the adapter up for a server at this address, with this key.
    fn connect(&self, base_url: &str, key: &str) -> Self::Model;

    /// What the adapter's documentation says that it can do.
    fn capabilities(&self) -> Capabilities;

    /// The model to ask for.
    fn model(&self) -> &str;

    /// The vendor, as `gen_ai.provider.name` has it.
    fn provider(&self) -> &str;

    /// How the vendor would send this reply; `None` if its language cannot say it.
    ///
    /// Plain text, and calls where the adapter declares tools, have to be rendered.
    fn render(&self, reply: &ScriptedReply) -> Option<WireReply>;

    /// How the vendor would answer with this failure.
    fn render_failure(&self, failure: &ScriptedFailure) -> WireReply;

    /// How the vendor would tell this failure inside of a stream; `None` if it never does.
    fn render_failure_event(&self, failure: &ScriptedFailure) -> Option<Bytes>;

    /// Pieces of a stream that the vendor may come to send one day, and what it sends to keep the
    /// connection alive; none if the adapter does not stream.
    fn unknown_events(&self) -> Vec<Bytes>;

    /// A piece of a stream that breaks the vendor's language; `None` if the adapter does not stream.
    fn broken_event(&self) -> Option<Bytes>;
}
