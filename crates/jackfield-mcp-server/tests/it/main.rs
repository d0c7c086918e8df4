//! The tests of this crate: a client on the other end of a pipe in memory.
#![expect(clippy::expect_used, reason = "a test that cannot go on is over")]

mod calls;
mod curious;
mod eras;
mod harness;
mod hostile;
mod mapping;
mod observing;
mod offering;
mod questions;
mod request_headers;
mod rmcp_client;
mod selecting;
mod streamable;
