//! MCP servers as toolboxes, against servers that speak the protocol from scripts.

mod calls;
mod contract;
mod eras;
mod faults;
mod gate;
mod harness;
mod jobs;
mod lists;
mod mutations;
mod outcomes;
mod processes;
