//! Integration tests of `jackfield-provider-kit`.

#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "helpers of tests fail the test"
)]

mod base_url;
mod by_model;
mod exchange;
mod guarded;
mod leased;
mod lines;
mod retry_after;
mod reuse;
mod secret;
mod sse;
mod status;
mod text_tools;
mod tokens;
mod transport;
mod upstream;
