//! What can be asked of `jackfield config`.

use clap::Subcommand;

use super::{Bounds, Setup, Source};

/// `jackfield config`
#[derive(Clone, Debug, Subcommand)]
pub enum Config {
    /// Say where configuration files are looked for, and which are read.
    #[command(after_help = PATH_EXAMPLES)]
    Path {
        /// Where the configuration is.
        #[command(flatten)]
        source: Source,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show every value that holds, and where it comes from; secrets are hidden.
    #[command(after_help = SHOW_EXAMPLES)]
    Show(Box<Show>),
}

/// `jackfield config show`
#[derive(Clone, Debug, clap::Args)]
pub struct Show {
    /// The model, as `ask` takes it.
    #[arg(short, long)]
    pub model: Option<String>,
    /// The system prompt, as `ask` takes it.
    #[arg(long, value_name = "TEXT")]
    pub system: Option<String>,
    /// What the turn may do.
    #[command(flatten)]
    pub bounds: Bounds,
    /// Where the configuration is, and what it says about tools.
    #[command(flatten)]
    pub setup: Setup,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

pub(super) const EXAMPLES: &str = "\
Examples:
  jackfield config show
  jackfield config path";

const PATH_EXAMPLES: &str = "\
Examples:
  jackfield config path
  jackfield config path --json | jq -r '.[] | select(.state == \"read\") | .path'";

const SHOW_EXAMPLES: &str = "\
Examples:
  jackfield config show
  jackfield config show --max-rounds 3 | grep rounds
  jackfield config show --json | jq '.values[] | select(.origin.kind != \"default\")'";
