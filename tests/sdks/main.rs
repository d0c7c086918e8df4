//! The official SDKs in front of `jackfield serve`, and scripted vendors behind it.
//!
//! A script of this folder drives one SDK: it runs the named cases, each against the gateway, and writes one
//! line of JSON for each. What the models behind say is told by [`cases`], the same for every SDK: a case
//! names itself in the first words of its user, so that one vendor serves them all. The list of the cases
//! that a script has to run stands in the test, so that none can be left out in silence.
//!
//! `cargo xtask slices` installs the SDKs, and says where in `JACKFIELD_SDKS_NODE` and
//! `JACKFIELD_SDKS_PYTHON`.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a slice that cannot go on has to fail the test, and what its script says is shown with that"
)]

mod agents;
mod aimock;
mod breaking;
mod cases;
mod chat;
mod claude_code;
mod claude_code_front;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod cline;
mod collector;
mod gateway;
mod gemini;
mod messages;
mod metrics;
mod passthrough;
mod recorder;
mod responses;
mod script;
mod ui;
mod upstream;

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
