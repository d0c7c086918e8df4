//! The arguments of `jackfield mcp`.

use clap::Subcommand;

use super::{ConfigArgs, Source};

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
        /// Print JSON, and do not ask.
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
    /// Be an MCP server: offer tools of Jackfield to other programs, over standard input and output.
    #[command(after_help = SERVE_EXAMPLES)]
    Serve(McpServe),
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

/// `jackfield mcp serve`
#[derive(Clone, Debug, clap::Args)]
pub struct McpServe {
    /// Offer the tools of these patterns, if they may run without asking.
    #[arg(
        long,
        value_name = "PATTERN",
        num_args = 1..,
        default_value = "builtin/*"
    )]
    pub tools: Vec<String>,
    /// Read no configuration: the built-in tools are all that there is.
    #[arg(long, conflicts_with_all = ["config", "mcp_config", "allow", "deny"])]
    pub no_config: bool,
    /// Where the configuration is, and what it says about tools.
    #[command(flatten)]
    pub setup: ConfigArgs,
}

pub(super) const EXAMPLES: &str = "\
Examples:
  jackfield mcp list
  jackfield mcp test weather
  jackfield mcp accept weather
  jackfield mcp logs weather --mcp-config mcp-servers.json
  jackfield mcp serve --tools 'builtin/*' 'weather/*'";

const ACCEPT_EXAMPLES: &str = "\
Examples:
  jackfield mcp accept weather
  jackfield mcp accept weather get_forecast
  jackfield mcp accept weather --json | jq '.changes[] | {tool, accepted, offered}'

A tool whose definition has changed is neither offered nor called until the change is accepted.
The exit code is 8 if the server cannot be used, 2 if there is no terminal, 130 if the answer is no.";

const LIST_EXAMPLES: &str = "\
Examples:
  jackfield mcp list
  jackfield mcp list --json | jq -r '.[] | select(.state == \"failed\") | .id'";

const LOGS_EXAMPLES: &str = "\
Examples:
  jackfield mcp logs weather
  jackfield mcp logs weather --json | jq -r '.lines[]'";

const SERVE_EXAMPLES: &str = "\
Examples:
  jackfield mcp serve
  jackfield mcp serve --tools 'builtin/*' 'weather/*' --allow 'weather/*'

Claude Desktop and most other clients start it by an entry such as this one:
  {
    \"mcpServers\": {
      \"jackfield\": { \"command\": \"jackfield\", \"args\": [\"mcp\", \"serve\"] }
    }
  }

Nobody can be asked here, so a tool that needs approval is not offered.
It ends when its input ends, or with Ctrl-C.";

const TEST_EXAMPLES: &str = "\
Examples:
  jackfield mcp test
  jackfield mcp test weather github
  jackfield mcp test --mcp-config mcp-servers.json --json

The exit code is 8 if a server cannot be used.";
