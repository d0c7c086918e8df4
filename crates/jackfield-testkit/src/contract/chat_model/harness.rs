//! The harness by which an adapter's author describes the vendor to the contract.

use std::fmt;

use bytes::Bytes;
use jackfield_ports::chat_model::{Capabilities, ChatModel};

use super::{
    BlockKind, Echo, Manner, Recording, RequestPart, ScriptedFailure, VendorReply, WireReply,
};
use crate::server::RecordedRequest;

/// Configures an adapter, and renders its vendor's wire format.
///
/// The test kit owns the server, the scripts and the assertions.
/// Write the wire format by hand, from the vendor's documentation and recorded bytes: data rendered with the
/// adapter's own mappers would only prove that the mappers agree with each other.
pub trait ChatModelHarness: Sync {
    /// The adapter.
    type Model: ChatModel + fmt::Debug;

    /// Creates an adapter for a server at this URL, with this key.
    fn connect(&self, base_url: &str, key: &str) -> Self::Model;

    /// The capabilities in the adapter's documentation.
    fn capabilities(&self) -> Capabilities;

    /// The model to request.
    fn model(&self) -> &str;

    /// The vendor's value of `gen_ai.provider.name`.
    fn provider(&self) -> &str;

    /// Renders this reply in this [manner](VendorReply::manner); `None` if the dialect cannot express it.
    ///
    /// Plain text, and calls if the adapter declares tools, must be rendered in the usual manner. So must malformed
    /// or truncated arguments; a vendor that cannot send those needs exceptions for
    /// `malformed_arguments_are_kept_as_text` and `truncated_arguments_are_not_repaired`. Of the other manners and
    /// blocks, exactly those in [`impossible`](Self::impossible) and [`never_sends`](Self::never_sends) are `None`;
    /// the [usual](Self::usual) ones are not asked for.
    fn render(&self, reply: &VendorReply) -> Option<WireReply>;

    /// The manners that this dialect cannot express, or that none of its servers is known to use, each with the
    /// reason.
    ///
    /// A manner that is both listed and rendered, or neither, fails, unless it is [usual](Self::usual).
    fn impossible(&self) -> &[(Manner, &str)] {
        &[]
    }

    /// The manners that are this vendor's usual form.
    fn usual(&self) -> &[Manner] {
        &[]
    }

    /// The kinds of blocks that the vendor never sends, each with the reason.
    ///
    /// Kinds that the [capabilities](Self::capabilities) exclude need not be listed. A kind that is both listed and
    /// rendered, or neither, fails. A block with state is rendered if its state is in the bytes.
    fn never_sends(&self) -> &[(BlockKind, &str)] {
        &[]
    }

    /// The parts of a request for which the vendor has no place, each with the reason.
    ///
    /// A part that is both listed and in an [`echo`](Self::echo), or neither, fails.
    fn never_takes(&self) -> &[(RequestPart, &str)] {
        &[]
    }

    /// Whether the vendor says how much of the input it read from a cache.
    fn counts_cached(&self) -> bool {
        true
    }

    /// Reads what a request says.
    ///
    /// Return what the request contains, without judging it, and nothing that it does not contain: ids, names and
    /// state that are missing from the request fail.
    fn echo(&self, request: &RecordedRequest) -> Echo;

    /// Recorded replies of the vendor's servers with their meaning; may be empty.
    fn recordings(&self) -> Vec<Recording> {
        Vec::new()
    }

    /// Renders a list of models with these ids, in several pages if possible; `None` if the adapter lists no
    /// models.
    fn render_models(&self, _ids: &[&str]) -> Option<Vec<WireReply>> {
        None
    }

    /// Renders this failure as a response.
    fn render_failure(&self, failure: &ScriptedFailure) -> WireReply;

    /// Renders this failure inside of a stream; `None` if the adapter does not stream, or the vendor tells failures of
    /// this kind before it alone. A vendor that streams and
    /// never does so needs an exception for `mid_stream_error_event_is_classified`.
    fn render_failure_event(&self, failure: &ScriptedFailure) -> Option<Bytes>;

    /// Stream events that the vendor might introduce, and its keep-alive events; empty if the adapter does not
    /// stream.
    fn unknown_events(&self) -> Vec<Bytes>;

    /// A stream event that violates the dialect; `None` if the adapter does not stream.
    fn broken_event(&self) -> Option<Bytes>;
}
