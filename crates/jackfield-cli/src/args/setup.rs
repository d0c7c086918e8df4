//! The arguments of `jackfield setup`.

use super::Source;

/// `jackfield setup`
#[derive(Clone, Debug, clap::Args)]
pub struct SetupArgs {
    /// Where the configuration is.
    #[command(flatten)]
    pub source: Source,
}

pub(super) const EXAMPLES: &str = "\
Examples:
  jackfield setup

It asks for a provider, its key and a model, tries them, and offers to take over the MCP servers of
other programs. Without questions: `jackfield config init`.";
