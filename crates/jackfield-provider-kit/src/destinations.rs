//! Which addresses requests may go to: public ones, and those that are allowed.

pub(crate) mod addresses;
pub(crate) mod allowed;
pub(crate) mod resolve;
