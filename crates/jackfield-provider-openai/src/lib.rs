//! OpenAI as a chat model, with both of its APIs, and every compatible server.
//!
//! [`OpenAi`](client::OpenAi) is the model and [`OpenAiConfig`](config::OpenAiConfig) its settings;
//! [`upstream()`](upstream::upstream) gives the API itself. The wire format is in `jackfield-dialect-openai`, and so
//! are the deviations of servers: a [`Profile`](config::Profile). The capabilities and failures are in the README of
//! this crate.

pub mod client;
pub mod config;
pub mod decoder;
pub mod upstream;

pub use jackfield_dialect_openai::profile;
