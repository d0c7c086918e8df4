//! Tests of the journal in a file.
#![expect(
    clippy::expect_used,
    reason = "a test ends where something is not as it should be"
)]

mod at_once;
mod checking;
mod contract;
mod faults;
mod files;
mod finding;
mod forms;
mod harness;
mod known;
mod newer;
mod older;
mod other_process;
mod parts;
mod processes;
mod reading;
mod recent;
mod spending;
mod writing;
