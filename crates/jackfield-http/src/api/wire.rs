//! The wire types of the API. They are separate from the domain types, which are never serialized directly.
//!
//! Names are in snake case, timestamps are RFC 3339 strings, and durations are in milliseconds. Responses may
//! gain fields; existing ones keep their meaning. Requests with unknown fields are refused.

pub(crate) mod approval;
pub(crate) mod blocks;
pub(crate) mod context;
pub(crate) mod directory;
pub(crate) mod events;
pub(crate) mod given;
pub(crate) mod listing;
pub(crate) mod own_servers;
pub(crate) mod parts;
pub(crate) mod request;
pub(crate) mod routes;
pub(crate) mod session;
pub(crate) mod settings;
pub(crate) mod timeline;
pub(crate) mod turn;
pub(crate) mod ui;
