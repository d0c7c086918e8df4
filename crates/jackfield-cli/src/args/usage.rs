//! The arguments of `jackfield usage`.

use jackfield_domain::spending::report::SpendingGroup;

use super::Source;

/// `jackfield usage`
#[derive(Clone, Debug, clap::Args)]
pub struct UsageArgs {
    /// Only this session: an id, the beginning of one, or `last`.
    #[arg(value_name = "ID")]
    pub session: Option<String>,
    /// What a line is about: day, model, provider, reply, session, tool, turn, user, or tag:NAME.
    #[arg(long, default_value_t = SpendingGroup::Day, value_name = "WHAT")]
    pub by: SpendingGroup,
    /// Only since a day, such as 2026-11-01, or for so long, such as 30d.
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,
    /// Was what `jackfield prices list` is now.
    #[arg(long, hide = true)]
    pub prices: bool,
    /// Compare the counters of the budgets with the spending records.
    #[arg(long, conflicts_with_all = ["session", "by", "since"])]
    pub verify: bool,
    /// With --verify: set counters that differ to the sums of the records.
    #[arg(long, requires = "verify")]
    pub repair: bool,
    /// Where the configuration is.
    #[command(flatten)]
    pub source: Source,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

pub(super) const EXAMPLES: &str = "\
Examples:
  jackfield usage
  jackfield usage --by model --since 30d
  jackfield usage --by reply last
  jackfield usage --by tag:team --since 30d
  jackfield usage --by tool --since 2026-11-01 --json | jq '.lines[] | select(.errors > 0)'
  jackfield usage --verify

The budgets of keys, users and teams are counted in the journal; --verify compares that with the
spending records, and exits with 13 where it differs.

What is marked with ~ is an estimate, or has one in it: the provider did not count all of it.";
