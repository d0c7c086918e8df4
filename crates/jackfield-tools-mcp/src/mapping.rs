//! Between the protocol's values and the domain's.

pub(crate) mod definition;
pub(crate) mod outcome;
