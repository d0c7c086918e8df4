//! The slices with real MCP servers, those that people use, pinned in `tests/servers`; and with the
//! clients that people use, those of the same packages, which `tests/clients` drives.
//!
//! `cargo xtask slices` installs them, and says where in `JACKFIELD_REAL_NODE` and `JACKFIELD_REAL_PYTHON`.
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
