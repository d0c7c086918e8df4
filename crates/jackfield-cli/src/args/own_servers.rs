//! The arguments of the commands on servers of users and teams.

use clap::{Args, Subcommand};

use super::Source;

/// What is done to the servers of a user or a team.
#[derive(Clone, Debug, Subcommand)]
pub enum OwnServerCommand {
    /// Stop offering a server to its owner, and keep it.
    #[command(after_help = EXAMPLES)]
    DisableServer(NamedServer),
    /// Offer a disabled server again.
    #[command(after_help = EXAMPLES)]
    EnableServer(NamedServer),
    /// List the MCP servers of a user or a team, without their secrets.
    #[command(after_help = EXAMPLES)]
    ListServers {
        /// The user or the team.
        owner: String,
        /// Where the configuration is.
        #[command(flatten)]
        source: Source,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Take a server away, and delete its secrets.
    #[command(after_help = EXAMPLES)]
    RemoveServer(NamedServer),
    /// Set an MCP server of a user or a team; values of headers and variables come from standard input.
    #[command(after_help = EXAMPLES)]
    SetServer {
        /// The user or the team.
        owner: String,
        /// The name of the server: lower-case letters, digits, `-` and `_`.
        name: String,
        /// The address of a server over HTTP.
        #[arg(long, value_name = "URL", required_unless_present = "program")]
        url: Option<String>,
        /// A program of [own_servers.programs], by its name there.
        #[arg(long, value_name = "NAME", conflicts_with = "url")]
        program: Option<String>,
        /// A header of each request; its value is read from the terminal, or a line of standard input.
        #[arg(long, value_name = "NAME", conflicts_with = "program")]
        header: Vec<String>,
        /// A variable of the program; its value is read from the terminal, or a line of standard input.
        #[arg(long, value_name = "NAME", conflicts_with = "url")]
        variable: Vec<String>,
        /// Where the configuration is.
        #[command(flatten)]
        source: Source,
    },
}

/// A server of a user or a team.
#[derive(Args, Clone, Debug)]
pub struct NamedServer {
    /// The user or the team.
    pub owner: String,
    /// The name of the server.
    pub name: String,
    /// Where the configuration is.
    #[command(flatten)]
    pub source: Source,
}

const EXAMPLES: &str = "\
Examples:
  jackfield users set-server ann tracker --url https://mcp.example/mcp --header Authorization < header.txt
  jackfield users list-servers ann
  jackfield users disable-server ann tracker
  jackfield users enable-server ann tracker
  jackfield users remove-server ann tracker
  jackfield teams set-server research files --program files --variable API_KEY < key.txt
  jackfield teams list-servers research
  jackfield teams disable-server research files
  jackfield teams enable-server research files
  jackfield teams remove-server research files

Turns of the user, or of each user of the team, can use the tools of the server; no other client
can. Values of headers and variables are kept encrypted, under the master key that [secrets] names;
users may do the same by the API.";
