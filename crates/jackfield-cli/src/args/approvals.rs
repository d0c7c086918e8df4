//! The arguments of `jackfield approvals`.

use clap::Subcommand;

use super::Source;

/// `jackfield approvals`
#[derive(Clone, Debug, Subcommand)]
pub enum Approvals {
    /// List the calls that wait for a yes or a no.
    #[command(after_help = LIST_EXAMPLES)]
    List {
        /// At most this many, the oldest first.
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
        most: u32,
        /// Where the configuration is.
        #[command(flatten)]
        source: Source,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show one of them, with all of its arguments; also after it was answered.
    #[command(after_help = SHOW_EXAMPLES)]
    Show {
        /// The question, by its id or by how the id begins.
        id: String,
        /// Where the configuration is.
        #[command(flatten)]
        source: Source,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Let a call run.
    #[command(after_help = ALLOW_EXAMPLES)]
    Allow {
        /// The question, by its id or by how the id begins.
        id: String,
        /// Run it with these arguments instead: a JSON object, or a file of one behind an @.
        #[arg(long, value_name = "JSON | @FILE")]
        edit: Option<String>,
        /// Let all later calls of this tool in the session run, too, as long as its definition stays.
        #[arg(long)]
        session: bool,
        /// Run a call of unknown outcome again, although it may act a second time.
        #[arg(long)]
        again: bool,
        /// Where the configuration is.
        #[command(flatten)]
        source: Source,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Deny a call.
    #[command(after_help = DENY_EXAMPLES)]
    Deny {
        /// The question, by its id or by how the id begins.
        id: String,
        /// The reason, for the model.
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
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
  jackfield approvals list
  jackfield approvals allow 3f2a
  jackfield approvals deny 3f2a --reason \"not on Fridays\"";

const LIST_EXAMPLES: &str = "\
Examples:
  jackfield approvals list
  jackfield approvals list --json | jq -r '.[].id'";

const SHOW_EXAMPLES: &str = "\
Examples:
  jackfield approvals show 3f2a
  jackfield approvals show 3f2a --json | jq .arguments";

const ALLOW_EXAMPLES: &str = "\
Examples:
  jackfield approvals allow 3f2a
  jackfield approvals allow 3f2a --session
  jackfield approvals allow 3f2a --edit '{\"path\": \"draft.txt\"}'

For a call whose outcome is unknown, this means: run it again. Where the tool may act a second time,
it needs `--again`.
The exit code is 10 if another answer came first, or it has expired.";

const DENY_EXAMPLES: &str = "\
Examples:
  jackfield approvals deny 3f2a
  jackfield approvals deny 3f2a --reason \"ask me on Monday\"

For a call whose outcome is unknown, this means: do not run it again.
The exit code is 10 if another answer came first, or it has expired.";
