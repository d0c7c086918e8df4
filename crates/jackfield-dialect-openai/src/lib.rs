//! OpenAI's two dialects in both directions: [`chat`] (Chat Completions) and [`responses`].
//!
//! Pure: no I/O, no clock, no async. The `wire` modules hold the vendor's types without logic. All other modules
//! map between them and domain values, and report differences as [notes](jackfield_domain::note).
//!
//! | to the vendor, as a client | from a client, as a server |
//! |---|---|
//! | `request::to_wire` | `request::from_wire` |
//! | `stream::Decoder` | `stream::Encoder`, `reply::to_wire` |
//! | [`error::classify`] | [`error::to_wire`] |
//! | [`models::from_wire`] | [`models::to_wire`] |
//! | | `serve`: the right column as a server's API |
//!
//! The deviations of servers that only claim compatibility are in the tables of [`profile`], and nowhere else.
//! What a request can do without, if a server refuses it by name, is in [`added`].
//! The wire format is that of the official SDK's types (`openai` 3.54.0 on PyPI, 2026-11) and of the vendor's
//! OpenAPI description 2.3.0, unless stated otherwise.

pub mod added;
mod cache_key;
pub mod chat;
pub mod error;
mod json_word;
pub mod models;
pub mod profile;
pub mod responses;
pub mod schema;
mod serve_error;
mod settings;
mod tools;
mod usage;

pub use usage::read_usage;
