//! The arguments of `jackfield replay`.

use std::path::PathBuf;

use super::Source;

/// `jackfield replay`
#[derive(Clone, Debug, clap::Args)]
pub struct ReplayArgs {
    /// The session or the turn: an id, the beginning of one, or `last` for the session.
    #[arg(
        value_name = "SESSION|TURN",
        required_unless_present = "facts",
        conflicts_with = "facts"
    )]
    pub of: Option<String>,
    /// What `sessions export --facts` wrote, instead of what is kept here.
    #[arg(long, value_name = "FILE")]
    pub facts: Option<PathBuf>,
    /// Show one step: what it answered, its facts, and what was to be done.
    #[arg(long, value_name = "N")]
    pub step: Option<u64>,
    /// Where the configuration is.
    #[command(flatten)]
    pub source: Source,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

pub(super) const EXAMPLES: &str = "\
Examples:
  jackfield replay last
  jackfield replay last --step 3
  jackfield replay --facts bug.jsonl --json | jq '.steps[] | select(.verdict != \"same\")'

Nothing is asked and nothing is run: the recorded inputs are decided again. The exit code is 11 if a \
step does not come out the same under the same rules, or its input cannot be rebuilt; a step that \
other rules decided may come out otherwise, and that is told as `decided differently since`.";
