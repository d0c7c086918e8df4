//! Integration tests of `jackfield-assembly`.

mod documented;
mod layers;
mod registry;
mod trust;
mod world;
mod wrong;
