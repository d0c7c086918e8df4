//! The arguments of `jackfield routes`.

use super::Source;

/// `jackfield routes`
#[derive(Clone, Debug, clap::Args)]
pub struct RoutesArgs {
    /// Where the configuration is.
    #[command(flatten)]
    pub source: Source,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

pub(super) const EXAMPLES: &str = "\
The state of the targets is that of the gateway which runs with this configuration.
JACKFIELD_TOKEN is the token for it, if it needs one.

Examples:
  jackfield routes
  jackfield routes --json";
