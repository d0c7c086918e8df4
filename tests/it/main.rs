//! The slices.
