//! The `jackfield-http` command: the gateway alone, configured by files and environment.

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

use jackfield_assembly::{Flags, Registry, ServerFiles, Surroundings, load};
use jackfield_server::{RunningGateway, immediate_shutdown_signal, shutdown_signal, start_log};

fn main() -> ExitCode {
    // Before anything else: a guard process has its own arguments, which are not a command line.
    if let Some(code) = jackfield_assembly::guard() {
        return code;
    }
    if let Some(code) = handle_flag(std::env::args_os().nth(1)) {
        return code;
    }
    match jackfield_server::runtime() {
        Ok(runtime) => {
            let code = runtime.block_on(serve());
            // A stuck thread must not keep the process alive.
            runtime.shutdown_background();
            code
        }
        Err(error) => {
            start_log(jackfield_assembly::LogFormat::default());
            tracing::error!(%error, "the runtime does not start");
            ExitCode::FAILURE
        }
    }
}

/// Answers `--help` and `--version`. There are no other arguments.
fn handle_flag(argument: Option<OsString>) -> Option<ExitCode> {
    let argument = argument?;
    let version = concat!("jackfield-http ", env!("CARGO_PKG_VERSION"));
    let output = match argument.to_str() {
        Some("--help" | "-h") => HELP,
        Some("--version" | "-V") => version,
        Some(_) | None => {
            let _closed = writeln!(
                std::io::stderr(),
                "error: `{}` is not known here: jackfield-http is configured by files and the \
                 environment; see --help",
                argument.to_string_lossy()
            );
            return Some(ExitCode::from(MISUSED));
        }
    };
    // A closed pipe is no error.
    let _closed = writeln!(std::io::stdout(), "{output}");
    Some(ExitCode::SUCCESS)
}

async fn serve() -> ExitCode {
    let surroundings = match Surroundings::of_process() {
        Ok(surroundings) => surroundings,
        Err(error) => {
            start_log(jackfield_assembly::LogFormat::default());
            tracing::error!(%error, "the working directory cannot be seen");
            return ExitCode::FAILURE;
        }
    };
    let config = match load(&surroundings, &Flags::default()) {
        Ok(config) => config,
        Err(error) => {
            start_log(jackfield_assembly::LogFormat::default());
            tracing::error!("{}", jackfield_server::chain(&error));
            return ExitCode::from(WRONG);
        }
    };
    start_log(config.serve.log);
    let registry = Registry::default().guarded();
    let environment = surroundings.environment.clone();
    let files = ServerFiles::new(surroundings, Flags::default(), registry.clone(), &config);
    match RunningGateway::start(config, &environment, &registry).await {
        Ok(running) => {
            let running = running.following(files);
            // Signal handlers are installed before the log line that announces the address, so that a reader of
            // it can end the process.
            let ends = shutdown_signal();
            tracing::info!(address = %running.address, "listening");
            running.run_until(ends, immediate_shutdown_signal()).await;
            ExitCode::SUCCESS
        }
        Err(error) => {
            tracing::error!("{}", jackfield_server::chain(&error));
            ExitCode::from(WRONG)
        }
    }
}

/// The text of `--help`.
const HELP: &str = "\
Jackfield's gateway alone: OpenAI Chat Completions and Responses, Claude Messages and its own API.

Usage: jackfield-http

It takes no flags: what `jackfield serve` reads is what it reads.
  jackfield.toml     of the user and of the folder that it is started in: [serve] says where it listens
  mcp-servers.json   the MCP servers; changes are picked up without a restart
  JACKFIELD_CONFIG   a file in place of those
  JACKFIELD_DB       the file that sessions are kept in
  JACKFIELD_MODEL    the model, such as claude/claude-sonnet-5
  JACKFIELD_LOG      what is logged, such as info or jackfield_http=debug

Example:
  JACKFIELD_CONFIG=/etc/jackfield.toml jackfield-http

Options:
  -h, --help     says this
  -V, --version  says which version it is";

/// The exit code of an invalid command line, as in `jackfield`.
const MISUSED: u8 = 2;

/// The exit code of an invalid configuration, as in `jackfield`.
const WRONG: u8 = 3;
