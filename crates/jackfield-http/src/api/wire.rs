//! What the API takes and gives, in forms of its own: no value of the domain is written as it is.
//!
//! Names are in snake case, instants are texts as RFC 3339 writes them, and lengths of time are in
//! milliseconds. Fields may be added to what is given; those that are there keep their meaning. What is
//! taken is refused if it has a field that is not known.

pub(crate) mod approval;
pub(crate) mod blocks;
pub(crate) mod events;
pub(crate) mod listing;
pub(crate) mod parts;
pub(crate) mod request;
pub(crate) mod session;
pub(crate) mod settings;
pub(crate) mod turn;
pub(crate) mod words;
