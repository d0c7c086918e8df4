//! The Claude Messages dialect, in both directions.
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
//! [`serve`] combines the right column into a server's API, for any provider behind it.
//!
//! **Refused**: audio, and media types that Claude does not accept, in a user message ([`request::Unsupported`]).
//! **Noted**: everything else that Claude cannot express.
//! The wire format is that of the Claude Messages API, version 2026-10-21, unless stated otherwise.

pub mod error;
pub mod models;
pub mod options;
pub mod property_names;
pub mod reply;
pub mod request;
pub mod serve;
pub mod stream;
pub mod wire;

/// The name of this dialect in [`StateOwner`](jackfield_domain::opaque::StateOwner),
/// [`Extension`](jackfield_domain::opaque::Extension) and
/// [`Annotation`](jackfield_domain::block::Annotation).
pub const DIALECT: &str = "claude";
