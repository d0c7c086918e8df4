//! The Claude Messages wire language, both directions.
//!
//! Pure: no I/O, no clock, no async. [`wire`] holds the vendor's forms and no logic; everything else maps
//! between them and the values of the domain, and says in [notes](jackfield_domain::note) what differs.
//!
//! | to the vendor, as a client | from a client, as a server |
//! |---|---|
//! | [`request::to_wire`] | [`request::from_wire`] |
//! | [`stream::Decoder`], [`reply::from_wire`] | [`stream::Encoder`], [`reply::to_wire`] |
//! | [`error::classify`] | [`error::to_wire`] |
//! | [`models::from_wire`] | [`models::page`], [`models::one`] |
//!
//! [`serve`] is all of the right side as one server, for whatever provider is asked behind it.
//!
//! What is **refused**: sounds, and media types that Claude does not take, in what a user says
//! ([`request::Unsupported`]). What is **noted**: everything else that Claude has no word for.
//! Facts about the wire are those of the Claude Messages API, version 2026-10-21, unless said otherwise.

pub mod error;
pub mod models;
pub mod options;
pub mod reply;
pub mod request;
pub mod serve;
pub mod stream;
pub mod wire;

/// The name of this dialect in [`StateOwner`](jackfield_domain::opaque::StateOwner),
/// [`Extension`](jackfield_domain::opaque::Extension) and
/// [`Annotation`](jackfield_domain::block::Annotation).
pub const DIALECT: &str = "claude";
