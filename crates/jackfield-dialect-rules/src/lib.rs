//! The vendors' own rules for request bodies, a module for each vendor.
//!
//! Pure: no I/O, no clock, no async. The rules are written from the vendors' documents and SDKs, independently of
//! the dialects' mappers, which they verify in tests. They read plain JSON, so that they also detect errors that no
//! wire type could represent. Of a dialect they only use the profiles: the capabilities of a model or server.
//!
//! | `POST` | there is |
//! |---|---|
//! | `/v1beta/models/MODEL:generateContent` | [`gemini::check`] |
//! | `/api/chat` | [`ollama::check`] |
//! | `/model/MODEL/converse` | [`bedrock::check`] |
//! | `/v1/messages` | [`claude::check`] |
//! | `/v1/chat/completions` | [`openai::chat::check`] |
//! | `/v1/responses` | [`openai::responses::check`] |
//!
//! A check returns every violation, each with its path. It never changes the body.

pub mod bedrock;
pub mod claude;
pub mod gemini;
pub mod ollama;
pub mod openai;
mod place;

pub use jackfield_dialect_kit::metaschema::faults as schema_faults;

pub use self::place::Violation;
