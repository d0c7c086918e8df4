//! The arguments of `jackfield tools`.

use std::path::PathBuf;

use clap::Subcommand;

use super::ConfigArgs;

/// `jackfield tools`
#[derive(Clone, Debug, Subcommand)]
pub enum Tools {
    /// List all tools: where each comes from, and whether it may run.
    #[command(after_help = LIST_EXAMPLES)]
    List {
        /// Where the configuration is, and what it says about tools.
        #[command(flatten)]
        setup: ConfigArgs,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show everything about one tool.
    #[command(after_help = SHOW_EXAMPLES)]
    Show {
        /// The tool, by the name that models see.
        name: String,
        /// Where the configuration is, and what it says about tools.
        #[command(flatten)]
        setup: ConfigArgs,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Call a tool by hand; you are asked for no approval.
    #[command(after_help = CALL_EXAMPLES)]
    Call {
        /// The tool, by the name that models see.
        name: String,
        /// The arguments: one JSON object, or key=value pairs.
        #[arg(value_name = "JSON | KEY=VALUE")]
        arguments: Vec<String>,
        /// Where the configuration is, and what it says about tools.
        #[command(flatten)]
        setup: ConfigArgs,
        /// Save images, audio and documents of the result in this folder.
        #[arg(long, value_name = "DIR")]
        save_files: Option<PathBuf>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

pub(super) const EXAMPLES: &str = "\
Examples:
  jackfield tools list
  jackfield tools show calculator
  jackfield tools call calculator expression='15% of 2500'
  jackfield tools call calculator '{\"expression\": \"15% of 2500\"}' --json";

const LIST_EXAMPLES: &str = "\
Examples:
  jackfield tools list
  jackfield tools list --json | jq -r '.[].name'";

const SHOW_EXAMPLES: &str = "\
Examples:
  jackfield tools show calculator
  jackfield tools show calculator --json | jq .input_schema";

const CALL_EXAMPLES: &str = "\
Examples:
  jackfield tools call calculator expression='15% of 2500'
  jackfield tools call current_datetime timezone=Asia/Tokyo
  jackfield tools call calculator '{\"expression\": \"15% of 2500\"}' --json

The exit code is 7 if the tool says that it failed.";
