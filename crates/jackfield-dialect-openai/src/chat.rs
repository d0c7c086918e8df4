//! Chat Completions: the dialect of `POST /v1/chat/completions`, and of all servers that claim compatibility.
//!
//! [`wire`] holds the types of the wire format without logic. All other modules map between them and domain values,
//! and report differences as [notes](jackfield_domain::note).
//!
//! **Refused**: media in a user message that the server does not take ([`request::Unsupported`]). **Noted**:
//! everything else that this dialect cannot express.
//! The wire format is that of the official SDK's types (`openai` 3.54.0, 2026-11), extended by what compatible
//! servers and their clients were observed to send (2026-11).
//! compatible servers and their clients were seen to send (2026-11).

pub mod reply;
pub mod request;
pub mod serve;
pub mod stream;
pub mod wire;

/// The name of this dialect in [`StateOwner`](jackfield_domain::opaque::StateOwner),
/// [`Extension`](jackfield_domain::opaque::Extension) and
/// [`Annotation`](jackfield_domain::block::Annotation).
pub const DIALECT: &str = "openai-chat";
