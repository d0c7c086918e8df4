//! Ollama as a chat model, over its own API (`/api/chat`).
//!
//! [`Ollama`](client::Ollama) is the model and [`OllamaConfig`](config::OllamaConfig) its settings. No client speaks
//! this language to us, so its mappers go one way and live here, and not in a crate of their own: [`request`] and
//! [`reply`] are pure, and [`wire`] has Ollama's types without logic.
//!
//! The wire format is that of `api/types.go` and `server/routes.go` of `github.com/ollama/ollama` at fb30760
//! (2026-08-21), unless stated otherwise. Unlike its API in OpenAI's form, this one takes the size of the context and
//! refuses a conversation that does not fit, where the other one drops the beginning.

pub mod client;
pub mod config;
pub mod error;
pub mod models;
pub mod reply;
pub mod request;
mod schema;
pub mod wire;

/// The name of this language in [`StateOwner`](jackfield_domain::opaque::StateOwner) and
/// [`Extension`](jackfield_domain::opaque::Extension).
pub const DIALECT: &str = "ollama";
