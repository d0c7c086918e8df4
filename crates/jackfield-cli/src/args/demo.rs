//! The arguments of `jackfield demo`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Subcommand;
use jackfield_assembly::listen_address;

use super::{Output, TurnLimitArgs};

/// `jackfield demo`
#[derive(Clone, Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
pub struct Demo {
    /// What to do in place of asking a question.
    #[command(subcommand)]
    pub command: Option<DemoCommand>,
    /// The question.
    #[arg(value_name = "QUESTION")]
    pub question: Vec<String>,
    /// Show the page of a gateway with sessions to look at, until Ctrl-C; then all of it is removed.
    #[arg(long, conflicts_with_all = ["question", "TurnLimitArgs", "Output"])]
    pub web: bool,
    /// With --web: listen there; by default at 127.0.0.1:8350, or at a free port if that is taken.
    #[arg(long, value_name = "ADDRESS", value_parser = listen_address, requires = "web")]
    pub bind: Option<SocketAddr>,
    /// What the turn may do.
    #[command(flatten)]
    pub bounds: TurnLimitArgs,
    /// How the answer is shown.
    #[command(flatten)]
    pub output: Output,
}

/// What the demo does in place of asking a question.
#[derive(Clone, Debug, Subcommand)]
pub enum DemoCommand {
    /// Be the MCP server whose process ends after the first invoice that it sends.
    #[command(hide = true, after_help = INVOICES_EXAMPLES)]
    InvoiceServer {
        /// The file with the invoices that were sent.
        outbox: PathBuf,
    },
    /// Serve the demo model to SDKs, until Ctrl-C; then all of it is removed.
    #[command(after_help = SERVE_EXAMPLES)]
    Serve {
        /// Listen there; by default at 127.0.0.1:8350, or at a free port if that is taken.
        #[arg(long, value_name = "ADDRESS", value_parser = listen_address)]
        bind: Option<SocketAddr>,
    },
}

const INVOICES_EXAMPLES: &str = "\
Examples:
  jackfield demo invoice-server outbox.txt";
const SERVE_EXAMPLES: &str = "\
Examples:
  jackfield demo serve
  jackfield demo serve --bind 127.0.0.1:9000

It prints the addresses for SDKs, and a line with curl for each of two APIs.
It needs no key, and reads and writes nothing of the user's own.";
pub(super) const EXAMPLES: &str = "\
Examples:
  jackfield demo
  jackfield demo \"What is 12 * 12?\"
  jackfield demo --json
  jackfield demo --web
  jackfield demo serve";
