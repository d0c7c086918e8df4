//! The gateway over sockets of its own, with nothing behind it.

#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test that cannot go on has to fail"
)]

mod api_bytes;
mod bodies;
mod broken_off;
mod browsers;
mod budgets;
mod connections;
mod directory;
mod gemini;
mod harness;
mod imports;
mod login;
mod mcp;
mod narrow_keys;
mod passed_cuts;
mod routes;
mod shares;
mod side_by_side;
mod sign_in;
mod tls;
mod two_gateways;
mod upstream_responses;
mod usage;
mod web_page;
