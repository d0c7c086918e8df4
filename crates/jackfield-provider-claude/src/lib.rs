//! Claude as a chat model: the Claude Messages API, or any compatible server.
//!
//! [`Claude`](client::Claude) is the model and [`ClaudeConfig`](config::ClaudeConfig) its settings;
//! [`upstream()`](upstream::upstream) gives the API itself. The wire format is in `jackfield-dialect-claude`; the
//! capabilities and failures are in the README of this crate.

pub mod client;
pub mod config;
pub mod upstream;
