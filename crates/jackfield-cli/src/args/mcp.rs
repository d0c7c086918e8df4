//! The arguments of `jackfield mcp`.

use std::path::PathBuf;

use clap::Subcommand;
use jackfield_assembly::KNOWN_SERVERS;

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
    /// Add a server: a well-known one by its name, or any other one by its command.
    #[command(after_help = add_help())]
    Add(McpAdd),
    /// Take over the servers of another program's file.
    #[command(after_help = IMPORT_EXAMPLES)]
    Import(McpImport),
    /// Start a server, and show all that it has: how it speaks, its tools, its resources and its prompts.
    #[command(after_help = INSPECT_EXAMPLES)]
    Inspect {
        /// The server, by its id.
        server: String,
        /// Where the configuration is.
        #[command(flatten)]
        source: Source,
        /// Print JSON, with the definitions as the server sends them.
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
    /// Sign in at a server with an address, by OAuth in a browser.
    #[command(after_help = LOGIN_EXAMPLES)]
    Login {
        /// The server, by its id.
        server: String,
        /// Print the address only, and start no browser.
        #[arg(long)]
        no_browser: bool,
        /// Where the configuration is.
        #[command(flatten)]
        source: Source,
    },
    /// Sign out: forget the tokens of a server, and have them revoked.
    #[command(after_help = LOGOUT_EXAMPLES)]
    Logout {
        /// The server, by its id.
        server: String,
        /// Where the configuration is.
        #[command(flatten)]
        source: Source,
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
    /// Remove a server.
    #[command(after_help = REMOVE_EXAMPLES)]
    Remove {
        /// The server, by its id.
        server: String,
        /// Where the configuration is.
        #[command(flatten)]
        source: Source,
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

/// `jackfield mcp add`
#[derive(Clone, Debug, clap::Args)]
pub struct McpAdd {
    /// The id of the server: its tools are named after it.
    #[arg(value_name = "NAME")]
    pub name: String,
    /// For a well-known server: the folders of filesystem, the repository of git, options of the others.
    #[arg(value_name = "ARGUMENT")]
    pub arguments: Vec<String>,
    /// The command of any other server, after --.
    #[arg(value_name = "COMMAND", last = true)]
    pub command: Vec<String>,
    /// A variable of its environment; ${NAME} in the value stands for a variable of Jackfield's own.
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    pub env: Vec<(String, String)>,
    /// The address of a server over Streamable HTTP, instead of a command.
    #[arg(long, value_name = "URL", conflicts_with_all = ["arguments", "command", "env"])]
    pub url: Option<String>,
    /// A header of every request to that address; ${NAME} in the value stands for a variable of Jackfield's own.
    #[arg(long, value_name = "NAME: VALUE", value_parser = header, requires = "url")]
    pub header: Vec<(String, String)>,
    /// Replace a server of this id.
    #[arg(long)]
    pub force: bool,
    /// Believe what the server says of the effects of its tools.
    #[arg(long)]
    pub trust: bool,
    /// Where the configuration is.
    #[command(flatten)]
    pub source: Source,
}

/// `jackfield mcp import`
#[derive(Clone, Debug, clap::Args)]
pub struct McpImport {
    /// The file of Claude Code, Claude Desktop, Cline, Cursor, VS Code, Windsurf or Jackfield.
    pub file: PathBuf,
    /// The servers, by their ids; all if none is named.
    #[arg(value_name = "SERVER")]
    pub servers: Vec<String>,
    /// Replace servers of the same ids.
    #[arg(long)]
    pub force: bool,
    /// Where the configuration is.
    #[command(flatten)]
    pub source: Source,
}

fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        Some(_) | None => Err("a variable is written as NAME=VALUE".to_owned()),
    }
}

fn header(text: &str) -> Result<(String, String), String> {
    match text.split_once(':') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        }
        // The text is not repeated, as it may be a key.
        Some(_) | None => Err("a header is written as 'NAME: VALUE'".to_owned()),
    }
}

/// The examples of `mcp add`, and the well-known servers.
fn add_help() -> String {
    let known = KNOWN_SERVERS
        .iter()
        .map(|known| format!("  {:<11} {} ({})\n", known.name, known.about, known.program));
    let known: String = known.collect();
    format!("{ADD_EXAMPLES}\n\nWell-known servers, and what runs them:\n{known}\n{ADD_PLACE}")
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
  jackfield mcp add filesystem ~/notes
  jackfield mcp list
  jackfield mcp test weather
  jackfield mcp inspect weather
  jackfield mcp accept weather
  jackfield mcp login tracker
  jackfield mcp logs weather --mcp-config mcp-servers.json
  jackfield mcp serve --tools 'builtin/*' 'weather/*'";

const ACCEPT_EXAMPLES: &str = "\
Examples:
  jackfield mcp accept weather
  jackfield mcp accept weather get_forecast
  jackfield mcp accept weather --json | jq '.changes[] | {tool, accepted, offered}'

A tool whose definition has changed is neither offered nor called until the change is accepted.
The exit code is 8 if the server cannot be used, 2 if there is no terminal, 130 if the answer is no.";

const ADD_EXAMPLES: &str = "\
Examples:
  jackfield mcp add time
  jackfield mcp add filesystem ~/notes ~/drafts
  jackfield mcp add git .
  jackfield mcp add weather --env KEY='${WEATHER_KEY}' -- weather-server --units metric
  jackfield mcp add tracker --url https://tracker.example/mcp --header 'Authorization: Bearer ${TRACKER_KEY}'";

const ADD_PLACE: &str = "It is written into your own mcp-servers.json, or the file that the configuration names; \
comments stay.";

const IMPORT_EXAMPLES: &str = "\
Examples:
  jackfield mcp import ~/.cursor/mcp.json
  jackfield mcp import .mcp.json github files

Their commands and variables are copied. What cannot be used is left out, with the reason.";

const REMOVE_EXAMPLES: &str = "\
Examples:
  jackfield mcp remove weather";

const INSPECT_EXAMPLES: &str = "\
Examples:
  jackfield mcp inspect weather
  jackfield mcp inspect weather --json | jq '.tool_definitions[] | {name, annotations}'
  jackfield mcp inspect weather --json | jq -r '.resources[].uri'

Its tools are all that it offers and its patterns admit, also those that wait for `jackfield mcp accept`.
The exit code is 8 if the server cannot be used.";

const LIST_EXAMPLES: &str = "\
Examples:
  jackfield mcp list
  jackfield mcp list --json | jq -r '.[] | select(.state == \"failed\") | .id'";

const LOGIN_EXAMPLES: &str = "\
Examples:
  jackfield mcp login tracker
  jackfield mcp login tracker --no-browser

The address to open is printed; a browser is started where there is a screen.
Tokens are kept in the keyring of the system if there is one, and otherwise in a file of this user alone.
The exit code is 8 if the sign-in fails.";

const LOGOUT_EXAMPLES: &str = "\
Examples:
  jackfield mcp logout tracker";

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

There is no terminal to ask at, so a tool that needs approval is not offered.
It ends when its input ends, or with Ctrl-C.";

const TEST_EXAMPLES: &str = "\
Examples:
  jackfield mcp test
  jackfield mcp test weather github
  jackfield mcp test --mcp-config mcp-servers.json --json

The exit code is 8 if a server cannot be used.";
