//! The `jackfield` command line: arguments, commands, and everything that is printed.
//!
//! [`args`] says what can be asked for, [`commands`] does it, [`render`] is the only place that
//! prints, and [`exit`] has the exit codes.

pub mod approval;
pub mod args;
pub mod commands;
mod editor;
pub mod exit;
pub mod fault;
mod log;
pub mod person;
pub mod question;
pub mod render;
mod signals;
mod tty;
pub mod turn;
pub mod withdrawal;

use std::process::ExitCode;

use clap::Parser as _;
pub use jackfield_assembly::Registry;
use tokio::runtime::{Builder, Runtime};

use crate::args::{Args, Command};
use crate::exit::Exit;

/// Runs the command of this process's arguments, with everything that comes with Jackfield.
#[must_use]
pub fn main() -> ExitCode {
    main_with(&Registry::default())
}

/// Runs the command of this process's arguments, with what is registered here: a whole `jackfield` with
/// providers of one's own is a `main` of one line.
#[must_use]
pub fn main_with(registry: &Registry) -> ExitCode {
    // Before anything else: what a guard is given is no command line.
    if let Some(code) = jackfield_assembly::guard() {
        return code;
    }
    let args = Args::parse();
    args.color.as_choice().write_global();
    if !args.command.has_a_log_of_its_own() {
        log::start();
    }
    let runtime = runtime(&args.command);
    let exit = match runtime {
        Ok(runtime) => {
            let ended = runtime.block_on(commands::run(args.command, &registry.clone().guarded()));
            // A thread that is stuck must not hold the process.
            runtime.shutdown_background();
            ended.unwrap_or_else(|fault| render::fault(&fault))
        }
        Err(error) => render::fault(
            &fault::CommandError::new(Exit::Internal, "the runtime does not start").because(&error),
        ),
    };
    ExitCode::from(exit.code())
}

/// The threads of a command: two workers, so that a tool that computes holds up neither Ctrl-C nor the answer,
/// unless it is a gateway.
#[cfg_attr(
    not(feature = "serve"),
    expect(unused_variables, reason = "only a gateway has other threads")
)]
fn runtime(command: &Command) -> std::io::Result<Runtime> {
    #[cfg(feature = "serve")]
    if matches!(command, Command::Serve(_)) {
        return jackfield_http::runtime();
    }
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(2).enable_all().build()
}
