//! Brook's models as a [`ChatModel`](jackfield_ports::chat_model::ChatModel).

mod client;
mod error;
mod reply;
mod request;
mod wire;

pub use client::BrookModel;
pub use reply::Decoder;

/// The vendor's own address. To do: the real one.
pub const BASE_URL: &str = "https://api.brook.example";
