//! Acme's models as a [`ChatModel`](jackfield_ports::chat_model::ChatModel).
//!
//! Acme does not exist. This is the adapter to copy for a vendor that does; the guide
//! `docs/guides/add-a-provider.md` goes through it file by file.

mod client;
mod error;
mod factory;
mod reply;
mod request;
mod wire;

pub use client::Acme;
pub use factory::AcmeFactory;
pub use reply::Decoder;

/// The name of acme's language in
/// [`StateOwner`](jackfield_domain::opaque::StateOwner) and
/// [`Extension`](jackfield_domain::opaque::Extension).
pub const DIALECT: &str = "acme";
