//! The arguments of `jackfield sessions watch`.

use jackfield_domain::cursor::Cursor;

use super::Source;

/// `jackfield sessions watch`
#[derive(Clone, Debug, clap::Args)]
pub struct WatchArgs {
    /// The session: an id, the beginning of one, or `last`.
    #[arg(value_name = "ID")]
    pub session: String,
    /// Go on behind this cursor, as an earlier watch with --json gave it; from the beginning otherwise.
    #[arg(
        long,
        value_name = "CURSOR",
        default_value_t,
        hide_default_value = true
    )]
    pub from: Cursor,
    /// Print one JSON event a line; see docs/cli.md.
    #[arg(long)]
    pub json: bool,
    /// End when no turn is open, instead of waiting for the next one.
    #[arg(long)]
    pub until_done: bool,
    /// Show more: notes, reasoning, whole outcomes of tools.
    #[arg(short, long)]
    pub verbose: bool,
    /// Where the configuration is.
    #[command(flatten)]
    pub source: Source,
}

pub(super) const EXAMPLES: &str = "\
Examples:
  jackfield sessions watch k3f9
  jackfield sessions watch k3f9 --until-done --json > seen.jsonl
  jackfield sessions watch k3f9 --json --from 50331650

Watching changes nothing: Ctrl-C ends the watching, never the turn.";
