//! The vendors' own rules for request bodies, a module for each vendor.
//!
//! Pure: no I/O, no clock, no async. The rules are written from the vendors' documents and SDKs, and not
//! from the mappers of the dialects, which they judge in tests. They read plain JSON, so that they also
//! see what no wire type would let through. Of a dialect they know only its profiles: what a model or a
//! server takes.
//!
//! | `POST` | there is |
//! |---|---|
//! | `/v1/messages` | [`claude::check`] |
//! | `/v1/chat/completions` | [`openai::chat::check`] |
//! | `/v1/responses` | [`openai::responses::check`] |
//!
//! A check returns every rule that a body breaks, each with its place. It never changes the body.

pub mod claude;
pub mod openai;

pub use jackfield_dialect_kit::metaschema::faults as schema_faults;
