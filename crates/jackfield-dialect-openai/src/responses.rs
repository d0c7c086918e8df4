//! The Responses language, both directions, without the vendor's own storage; [`serve`] is what a server
//! makes of it that keeps responses itself.
//!
//! We keep the history ourselves: requests say `store: false`, name no response before them, and ask for
//! reasoning in a form that can be sent back. What the vendor's items say beside their words (ids,
//! phases, encrypted reasoning) is opaque state of the blocks that they become, and goes back to its owner
//! as it came. What is **refused**: sounds and documents that cannot be sent, in what a user says. What is
//! **noted**: everything else for which the language has no word.

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
