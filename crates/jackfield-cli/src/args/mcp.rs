//! What can be asked of `jackfield mcp`.

use clap::Subcommand;

use super::Source;

/// `jackfield mcp`
#[derive(Clone, Debug, Subcommand)]
pub enum Mcp {
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
  jackfield mcp logs weather --mcp-config mcp-servers.json";

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
