//! What is durable, as the system calls tell it: `strace` runs `examples/appender.rs`, and a judge that
//! knows nothing of the journal looks whether every append was synced before it was acknowledged.
//!
//! Killing the process would show nothing of this, as the operating system keeps what was not synced.

#![expect(
    clippy::expect_used,
    reason = "a test ends where something is not as it should be"
)]

mod faults;
mod judge;
mod syncs;
mod trace;
