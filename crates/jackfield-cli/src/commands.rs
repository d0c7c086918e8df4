//! The implementations of the commands.

pub mod approvals;
pub mod ask;
mod attach;
pub mod audit;
mod browser;
pub mod chat;
pub mod completions;
pub mod config;
mod context;
pub mod demo;
pub mod directory;
pub mod doctor;
#[cfg(feature = "serve")]
mod gateway_doctor;
mod import;
mod init;
pub mod journal;
mod key_store;
pub mod keys;
pub mod man;
pub mod mcp;
pub mod models;
mod notes_server;
mod own_servers;
mod patterns;
mod printed;
mod provider_keys;
pub mod replay;
pub mod routes;
pub mod secrets;
#[cfg(feature = "serve")]
pub mod serve;
mod servers;
pub(crate) mod session_journal;
pub mod sessions;
pub mod setup;
mod too_long;
pub mod tools;
pub mod usage;

use std::io::{self, Write as _};

use clap::CommandFactory as _;
use jackfield_assembly::Registry;

use crate::args::{Args, Command};
use crate::exit::Exit;
use crate::fault::CommandError;

fn version() -> Result<Exit, CommandError> {
    let version = Args::command().render_version();
    let mut out = io::stdout();
    printed::finish(
        out.write_all(version.as_bytes()).and_then(|()| out.flush()),
        Exit::Answered,
    )
}

/// Runs a command.
///
/// # Errors
///
/// [`CommandError`] with the exit code and help.
pub async fn run(command: Command, registry: &Registry) -> Result<Exit, CommandError> {
    match command {
        Command::Approvals(approvals) => approvals::run(approvals, registry).await,
        Command::Ask(ask) => ask::run(ask, registry).await,
        Command::Audit(audit) => audit::run(audit, registry).await,
        Command::Chat(chat) => chat::run(chat, registry).await,
        Command::Completions(completions) => completions::run(&completions),
        Command::Config(config) => config::run(&config, registry).await,
        Command::Demo(demo) => demo::run(demo).await,
        Command::Doctor(doctor) => doctor::run(doctor, registry).await,
        Command::Journal(command) => journal::run(command, registry).await,
        Command::Keys(keys) => keys::run(keys, registry).await,
        Command::Man(man) => man::run(&man),
        Command::Mcp(mcp) => mcp::run(mcp, registry).await,
        Command::NotesServer(arguments) => notes_server::run(arguments).await,
        Command::Models(asked) => models::list(asked, registry).await,
        #[cfg(feature = "serve")]
        Command::Page(page) => serve::page(&page),
        Command::Providers(asked) => models::providers(asked, registry).await,
        Command::Replay(asked) => replay::run(asked, registry).await,
        Command::Prices(asked) => usage::prices::run(&asked),
        Command::Routes(asked) => routes::run(asked, registry).await,
        Command::Secrets(command) => secrets::run(command, registry).await,
        #[cfg(feature = "serve")]
        Command::Serve(serve) => serve::run(serve, registry).await,
        Command::Sessions(sessions) => sessions::run(sessions, registry).await,
        Command::Setup(setup) => setup::run(&setup, registry).await,
        Command::Teams(teams) => directory::teams(teams, registry).await,
        Command::Tools(tools) => tools::run(tools, registry).await,
        Command::Usage(usage) => usage::run(usage, registry).await,
        Command::Users(users) => directory::users(users, registry).await,
        Command::Version => version(),
    }
}
