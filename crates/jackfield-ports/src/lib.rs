//! The ports: the async traits that adapters implement, each with its errors and its contract.
//!
//! A port's contract is a list of clauses; the test kit has one test per clause, under the same name.

#![warn(missing_docs)]

pub mod call_context;
pub mod chat_model;
pub mod context_source;
pub mod credential;
pub mod delta_sink;
pub mod identity_provider;
pub mod journal;
pub mod lease;
pub mod mcp_observer;
pub mod question_handler;
pub mod sampling;
pub mod server_log;
pub mod toolbox;
pub mod toolbox_source;
pub mod upstream;
