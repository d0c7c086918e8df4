//! The arguments of `jackfield doctor`.

use super::Source;

/// `jackfield doctor`
#[derive(Clone, Debug, clap::Args)]
pub struct Doctor {
    /// Do not ask providers: keys and models are looked at, but not tried.
    #[arg(long)]
    pub offline: bool,
    /// Where the configuration is.
    #[command(flatten)]
    pub source: Source,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

pub(super) const EXAMPLES: &str = "\
Examples:
  jackfield doctor
  jackfield doctor --offline
  jackfield doctor --json | jq -r '.checks[] | select(.verdict == \"failed\") | .says'

The exit code is that of what failed first: 3 for configuration, keys, folders and sessions, \
4 for providers, 8 for MCP servers, and 0 if nothing failed.";
