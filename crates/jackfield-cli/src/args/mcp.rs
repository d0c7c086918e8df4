//! What can be asked of `jackfield mcp`.

use clap::Subcommand;

use super::Source;

/// `jackfield mcp`
#[derive(Clone, Debug, Subcommand)]
pub enum Mcp {
    /// Show what has changed in a server's tools since they were accepted, and accept it.
    #[command(after_help = ACCEPT_EXAMPLES)]
    Accept {
        /// The server, by its id.
        server: String,
        /// The tools, by the server's own names; all that have changed if none is named.
        #[arg(value_name = "TOOL")]
        tools: Vec<String>,
        /// Where the configuration is.
        #[command(flatten)]
        source: Source,
        /// Accept what has changed without being asked.
        #[arg(short, long)]
        yes: bool,
        /// Print JSON; nobody is asked then.
        #[arg(long)]
        json: bool,
    },
    /// Start all servers, and list them: how each is, how it speaks, how many tools it has.
    #[command(after_help = LIST_EXAMPLES)]
    List {
        /// Where the configuration is.
        #[command(flatten)]
        source: Source,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show what a server says on standard error when it is started.
    #[command(after_help = LOGS_EXAMPLES)]
    Logs {
        /// The server, by its id.
        server: String,
        /// Where the configuration is.
        #[command(flatten)]
        source: Source,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Start servers, and say what to do about those that fail.
    #[command(after_help = TEST_EXAMPLES)]
    Test {
        /// The servers, by their ids; all that are switched on if none is named.
        #[arg(value_name = "SERVER")]
        servers: Vec<String>,
        /// Where the configuration is.
        #[command(flatten)]
        source: Source,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

pub(super) const EXAMPLES: &str = "\
Examples:
  jackfield mcp list
  jackfield mcp test weather
  jackfield mcp accept weather
  jackfield mcp logs weather --mcp-config mcp-servers.json";

const ACCEPT_EXAMPLES: &str = "\
Examples:
  jackfield mcp accept weather
  jackfield mcp accept weather get_forecast
  jackfield mcp accept weather --json | jq '.changes[] | {tool, accepted, offered}'

A tool whose definition has changed is neither offered nor called until the change is accepted.
The exit code is 8 if the server cannot be used, 2 if nobody is there to ask, 130 if the answer is no.";

const LIST_EXAMPLES: &str = "\
Examples:
  jackfield mcp list
  jackfield mcp list --json | jq -r '.[] | select(.state == \"failed\") | .id'";

const LOGS_EXAMPLES: &str = "\
Examples:
  jackfield mcp logs weather
  jackfield mcp logs weather --json | jq -r '.lines[]'";

const TEST_EXAMPLES: &str = "\
Examples:
  jackfield mcp test
  jackfield mcp test weather github
  jackfield mcp test --mcp-config mcp-servers.json --json

The exit code is 8 if a server cannot be used.";
