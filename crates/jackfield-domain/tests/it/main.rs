//! Integration tests of `jackfield-domain`.

mod loop_properties;
mod recovery;
mod world;
