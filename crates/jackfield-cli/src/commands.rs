//! The commands.

pub mod ask;
pub mod demo;
pub mod mcp;
mod patterns;
mod servers;
pub mod tools;

use jackfield_assembly::Registry;

use crate::args::Command;
use crate::exit::Exit;
use crate::fault::Fault;

/// Runs a command.
///
/// # Errors
///
/// A [`Fault`], which says what to do and how the run ends.
pub async fn run(command: Command, registry: &Registry) -> Result<Exit, Fault> {
    match command {
        Command::Ask(ask) => ask::run(ask, registry).await,
        Command::Demo(demo) => demo::run(demo).await,
        Command::Mcp(mcp) => mcp::run(mcp, registry).await,
        Command::Tools(tools) => tools::run(tools, registry).await,
    }
}
