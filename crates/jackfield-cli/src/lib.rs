//! The `jackfield` command line: arguments, commands, and output.
//!
//! [`args`] defines the command line, [`commands`] implements it, [`render`] is the only module that prints, and
//! [`exit`] has the exit codes.

pub mod approval;
pub mod args;
mod audited;
pub mod commands;
mod completion;
mod doctor_check;
mod editor;
mod elicitation;
pub mod exit;
pub mod fault;
mod log;
mod memory;
pub mod person;
mod prompt;
pub mod question;
mod reach;
pub mod render;
mod secret_line;
mod signals;
mod since;
pub mod standing_rules;
mod tty;
pub mod turn;
pub mod withdrawal;

/// What the tests of this crate look at, beside what is public.
#[doc(hidden)]
pub mod for_tests {
    pub use crate::commands::chat::prompts::words_of;
    pub use crate::completion::{Completion, Completions};
}

use std::process::ExitCode;

use clap::Parser as _;
pub use jackfield_assembly::Registry;
use tokio::runtime::{Builder, Runtime};

use crate::args::{Args, Command};
use crate::exit::Exit;

/// Runs the command in this process's arguments, with everything that comes with Jackfield.
#[must_use]
pub fn main() -> ExitCode {
    main_with(&Registry::default())
}

/// Runs the command in this process's arguments, with this registry: a complete `jackfield` with additional
/// providers is a `main` of one line.
#[must_use]
pub fn main_with(registry: &Registry) -> ExitCode {
    // Before anything else: a guard process has its own arguments, which are not a command line.
    if let Some(code) = jackfield_assembly::guard() {
        return code;
    }
    memory::return_large_blocks();
    let args = Args::parse();
    args.color.as_choice().write_global();
    if !args.command.has_a_log_of_its_own() {
        log::start();
    }
    let runtime = runtime(&args.command);
    let exit = match runtime {
        Ok(runtime) => {
            let ended = runtime.block_on(commands::run(args.command, &registry.clone().guarded()));
            // A stuck thread must not keep the process alive.
            runtime.shutdown_background();
            ended.unwrap_or_else(|fault| render::fault(&fault))
        }
        Err(error) => render::fault(
            &fault::CommandError::new(Exit::Internal, "the runtime does not start")
                .with_cause(&error),
        ),
    };
    ExitCode::from(exit.code())
}

/// The runtime of a command: two workers, so that a computing tool delays neither Ctrl-C nor the answer. A
/// gateway has its own runtime.
#[cfg_attr(
    not(feature = "serve"),
    expect(unused_variables, reason = "only a gateway has other threads")
)]
fn runtime(command: &Command) -> std::io::Result<Runtime> {
    #[cfg(feature = "serve")]
    if matches!(command, Command::Serve(_)) {
        return jackfield_server::runtime();
    }
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(2).enable_all().build()
}
