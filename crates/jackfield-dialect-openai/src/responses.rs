//! The Responses dialect in both directions, without the vendor's storage; [`serve`] is the dialect of a server
//! that stores responses itself.
//!
//! Jackfield keeps the history: requests have `store: false`, name no previous response, and ask for reasoning in a
//! form that can be sent back. Fields of the vendor's items beyond their text (ids, phases, encrypted reasoning)
//! are opaque state of the resulting blocks, and return to their owner unchanged. **Refused**: audio and documents
//! in a user message that cannot be sent. **Noted**: everything else that the dialect cannot express.

mod namespaces;
pub mod reply;
pub mod request;
pub mod serve;
pub(crate) mod state;
pub mod stream;
pub mod wire;

/// The name of this dialect in [`StateOwner`](jackfield_domain::opaque::StateOwner),
/// [`Extension`](jackfield_domain::opaque::Extension) and
/// [`Annotation`](jackfield_domain::block::Annotation).
pub const DIALECT: &str = "openai-responses";
