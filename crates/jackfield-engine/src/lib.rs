//! Performs what the loop asks for.
