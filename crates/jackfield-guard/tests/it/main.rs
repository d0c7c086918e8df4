//! Integration tests of `jackfield-guard`. Those that start processes are in the crates that have programs for them.

mod hangup;
mod output;
#[cfg(target_os = "linux")]
mod private;
