//! Generators of domain values, for property tests.
