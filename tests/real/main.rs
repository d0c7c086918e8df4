//! The slices with real MCP servers, those that people use, pinned in `tests/servers`; with the clients that people
//! use, those of the same packages, which `tests/clients` drives; and with the authorization server of `tests/sign-in`.
//!
//! `cargo xtask slices` installs them, and says where in `JACKFIELD_REAL_NODE`, `JACKFIELD_REAL_PYTHON` and
//! `JACKFIELD_REAL_SIGN_IN`.
//! A slice that is named after a scenario begins with its number, as in `it`.

#![expect(
    clippy::expect_used,
    reason = "a slice that cannot go on has to fail the test"
)]

mod asking;
mod carried;
mod clients;
mod conformance_server;
mod first_hour;
mod guide;
mod http;
mod leaving;
mod servers;
mod sign_in;
mod troubles;
mod world;

/// What both kinds of slices need.
#[expect(
    dead_code,
    unused_imports,
    reason = "the scripted servers are for the others"
)]
#[path = "../it"]
mod shared {
    pub(crate) mod harness;
}

use self::shared::harness;
