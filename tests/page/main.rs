//! The page of `jackfield serve` in Chromium, with a scripted Claude behind the gateway.
//!
//! `page.mjs` drives the browser and runs the named scenario. What it cannot do itself, such as to end the gateway, it
//! asks for with a line on standard output, and a line on standard input says that it is done.
//!
//! `cargo xtask slices` installs the driver and the browser, and says where in `JACKFIELD_PAGE_NODE` and
//! `JACKFIELD_PAGE_CHROMIUM`; screenshots are written into `JACKFIELD_PAGE_SHOTS`.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a slice that cannot go on has to fail the test, and what its script says is shown with that"
)]

mod browser;
mod chat;
mod scenarios;

/// What all kinds of slices need.
#[expect(
    dead_code,
    unused_imports,
    reason = "what types and what kills is for the others"
)]
#[path = "../it"]
mod shared {
    pub(crate) mod harness;
}

use self::shared::harness;
