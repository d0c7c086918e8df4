//! MCP servers as toolboxes, against servers that speak the protocol from scripts.

mod asked;
mod bytes;
mod callers;
mod calls;
mod context;
mod contract;
// What is left is counted below `/proc`.
#[cfg(target_os = "linux")]
mod crashes;
mod eras;
mod faults;
mod gate;
mod harness;
mod http;
mod http_faults;
mod jobs;
mod leases;
mod lists;
mod logged;
mod mirrored;
mod mutations;
mod observing;
mod outcomes;
mod processes;
mod sampling;
mod sessions;
mod sign_in;
mod watching;
