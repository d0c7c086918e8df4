//! Claude as a chat model: the Claude Messages API, or any server that speaks its language.
//!
//! [`Claude`](client::Claude) is the model and [`ClaudeConfig`](config::ClaudeConfig) its settings.
//! What the wire looks like is the business of `jackfield-dialect-claude`; what it can do and how it
//! fails is in the README of this crate.

pub mod client;
pub mod config;
