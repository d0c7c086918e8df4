//! A program that keeps an MCP server, and is its guard: `host keep COMMAND ARGUMENT…`.
//!
//! It starts itself again as the guard, `host guard …`. It says `ready` when the server runs, and ends
//! the server in good order when its own input ends. When it is interrupted, it ends on the spot.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for a terminal"
)]

use std::ffi::OsString;
use std::io::Read as _;
use std::process::ExitCode;

use jackfield_domain::ids::ToolboxId;
use jackfield_tools_mcp::{ClientSettings, GuardProgram, McpToolbox, ServerConfig, guard};
use tokio::signal::unix::{SignalKind, signal};

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next() {
        Some(first) if first == GUARD => guard::main(arguments),
        Some(first) if first == "keep" => match keep(arguments) {
            Ok(()) => ExitCode::SUCCESS,
            Err(fault) => {
                eprintln!("host: {fault}");
                ExitCode::FAILURE
            }
        },
        Some(_) | None => {
            eprintln!("usage: host keep COMMAND ARGUMENT…");
            ExitCode::FAILURE
        }
    }
}

fn keep(mut arguments: impl Iterator<Item = OsString>) -> Result<(), Box<dyn std::error::Error>> {
    let command = arguments.next().ok_or("there is no command")?;
    let mut config = ServerConfig::new(
        ToolboxId::parse("kept")?,
        command.to_string_lossy().into_owned(),
    );
    config.arguments = arguments
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect();
    let settings = ClientSettings {
        guard: Some(GuardProgram::this_program(GUARD)?),
        ..ClientSettings::default()
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        // Heard, and not left to the system: what a shell without job control starts in the background
        // is born deaf to it.
        let mut interrupt = signal(SignalKind::interrupt())?;
        tokio::spawn(async move {
            interrupt.recv().await;
            std::process::exit(INTERRUPTED)
        });
        let server = McpToolbox::new(config, settings);
        server.start().await?;
        println!("ready");
        let input = tokio::task::spawn_blocking(|| {
            let mut nothing = Vec::new();
            std::io::stdin().read_to_end(&mut nothing)
        });
        input.await??;
        server.stop().await;
        Ok(())
    })
}

const GUARD: &str = "guard";
/// What shells say of a program that was interrupted.
const INTERRUPTED: i32 = 130;
