//! The slices on a real PostgreSQL server: the commands, and two gateways on one database.
//!
//! `cargo xtask postgres` sees that there is a server, and builds what they start.

#![expect(
    clippy::expect_used,
    reason = "a slice that cannot go on has to fail the test"
)]

mod budgets;
#[cfg(target_os = "linux")]
mod clocks;
mod commands;
mod copying;
mod copying_accounts;
mod locks;
mod logins;
mod outages;
mod released;
mod replicas;
mod waking;
mod world;

/// What both kinds of slices need.
#[expect(dead_code, unused_imports, reason = "some of it is for the others")]
#[path = "../it"]
mod shared {
    pub(crate) mod harness;

    pub(crate) mod released {
        pub(crate) mod accounts;
    }
}

use self::shared::harness;
