//! What the author of an adapter tells the contract about the vendor.

use std::fmt;

use bytes::Bytes;
use jackfield_ports::chat_model::{Capabilities, ChatModel};

use super::{BlockKind, Echo, Manner, Recording, ScriptedFailure, VendorReply, WireReply};
use crate::server::RecordedRequest;

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

    /// How the vendor would send this reply, in this [manner](VendorReply::manner); `None` if its
    /// language cannot say it.
    ///
    /// Plain text, and calls where the adapter declares tools, have to be rendered in the usual manner; so
    /// have arguments that are broken or cut off, and a vendor that cannot send those needs exceptions
    /// for `malformed_arguments_are_kept_as_text` and `truncated_arguments_are_not_repaired`.
    /// Of the other manners and blocks, exactly those that are named by [`impossible`](Self::impossible)
    /// and [`never_sends`](Self::never_sends) are `None`.
    fn render(&self, reply: &VendorReply) -> Option<WireReply>;

    /// The manners that this language cannot have, or that no server of it is known to have, each with
    /// the reason.
    ///
    /// One that is named and rendered all the same, or not named and not rendered, fails.
    fn impossible(&self) -> &[(Manner, &str)] {
        &[]
    }

    /// The kinds of blocks that the vendor never sends, each with the reason.
    ///
    /// Kinds that the [capabilities](Self::capabilities) rule out need not be named. One that is named
    /// and rendered all the same, or not named and not rendered, fails.
    fn never_sends(&self) -> &[(BlockKind, &str)] {
        &[]
    }

    /// What a request of the adapter gives back of the conversation so far.
    ///
    /// Needed where the adapter declares tools or reasoning; read what stands there, and judge nothing. Ids,
    /// names and state that do not stand in the request fail.
    fn echo(&self, _request: &RecordedRequest) -> Echo {
        Echo::default()
    }

    /// Replies as they were recorded from the vendor's servers, with what they say; perhaps none.
    fn recordings(&self) -> Vec<Recording> {
        Vec::new()
    }

    /// How the vendor would list models of these names, in more than one page if it can; `None` if the
    /// adapter lists none.
    fn render_models(&self, _ids: &[&str]) -> Option<Vec<WireReply>> {
        None
    }

    /// How the vendor would answer with this failure.
    fn render_failure(&self, failure: &ScriptedFailure) -> WireReply;

    /// How the vendor would tell this failure inside of a stream; `None` if the adapter does not stream. A
    /// vendor that streams and never does so needs an exception for `mid_stream_error_event_is_classified`.
    fn render_failure_event(&self, failure: &ScriptedFailure) -> Option<Bytes>;

    /// Pieces of a stream that the vendor may come to send one day, and what it sends to keep the
    /// connection alive; none if the adapter does not stream.
    fn unknown_events(&self) -> Vec<Bytes>;

    /// A piece of a stream that breaks the vendor's language; `None` if the adapter does not stream.
    fn broken_event(&self) -> Option<Bytes>;
}
