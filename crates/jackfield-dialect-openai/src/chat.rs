//! Chat Completions: the language of `POST /v1/chat/completions`, and of every server that calls itself compatible.
//!
//! [`wire`] holds the forms and no logic; everything else maps between them and the values of the domain,
//! and says in [notes](jackfield_domain::note) what differs.
//!
//! What is **refused**: media in what a user says that the server does not take
//! ([`request::Unsupported`]). What is **noted**: everything else that this language has no word for.
//! The forms are those of the official SDK's types (`openai` 3.54.0, 2026-11); what is read besides is what
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
