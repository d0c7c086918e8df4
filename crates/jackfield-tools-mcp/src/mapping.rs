//! Mapping of the protocol's values to the domain's.

pub(crate) mod context;
pub(crate) mod definition;
pub(crate) mod outcome;
pub(crate) mod picture;
pub(crate) mod sampling;
