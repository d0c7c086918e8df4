//! OpenAI as a chat model, in both of its languages, and every server that speaks one of them.
//!
//! [`OpenAi`](client::OpenAi) is the model and [`OpenAiConfig`](config::OpenAiConfig) its settings.
//! What the wire looks like is the business of `jackfield-dialect-openai`, and so is what servers do
//! otherwise: a [`Profile`](config::Profile). What it can do and how it fails is in the README of this
//! crate.

pub mod client;
pub mod config;
pub mod decoder;

pub use jackfield_dialect_openai::profile;
