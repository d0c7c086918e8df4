//! The journal on a real PostgreSQL server.
#![expect(
    clippy::expect_used,
    reason = "a test ends where something is not as it should be"
)]

mod contract;
mod encrypted;
mod faults;
mod harness;
mod opening;
mod pooler;
mod proxy;
mod stranded;
mod troubles;
mod waking;
