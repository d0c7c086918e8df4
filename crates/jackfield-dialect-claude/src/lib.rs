//! The Claude Messages wire language, both directions.
