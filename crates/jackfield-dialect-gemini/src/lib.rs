//! The Gemini dialect (`generateContent`), in both directions.
//!
//! Pure: no I/O, no clock, no async. [`wire`] holds the vendor's types without logic. All other modules map between
//! them and domain values, and report differences as [notes](jackfield_domain::note).
//!
//! | to the vendor, as a client | from a client, as a server |
//! |---|---|
//! | [`request::to_wire`] | [`request::from_wire`] |
//! | [`stream::Decoder`] | [`stream::Encoder`], [`reply::to_wire`] |
//! | [`error::classify`] | [`error::to_wire`] |
//! | [`models::from_wire`] | [`models::page`], [`models::model_body`] |
//!
//! **Refused**: media of types that Gemini does not accept, in a user message ([`request::Unsupported`]).
//! **Noted**: everything else that Gemini cannot express.
//! The wire format is that of the Gemini API, `v1beta`, as in the types of `google-genai` 3.6.1 (2026-11), unless
//! stated otherwise.

pub mod error;
mod media;
pub mod models;
pub mod options;
pub mod reply;
pub mod request;
mod schema;
pub mod serve;
pub mod stream;
pub mod wire;

/// The name of this dialect in [`StateOwner`](jackfield_domain::opaque::StateOwner) and
/// [`Extension`](jackfield_domain::opaque::Extension).
pub const DIALECT: &str = "gemini";
