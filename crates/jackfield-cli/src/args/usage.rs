//! The arguments of `jackfield usage`.

use clap::ValueEnum;
use jackfield_domain::spending::report::SpendingGroup;

use super::Source;

/// `jackfield usage`
#[derive(Clone, Debug, clap::Args)]
pub struct UsageArgs {
    /// Only this session: an id, the beginning of one, or `last`.
    #[arg(value_name = "ID")]
    pub session: Option<String>,
    /// What a line is about: day, model, provider, reply, session, tool, turn or user.
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "WHAT",
        hide_possible_values = true
    )]
    pub by: UsageGrouping,
    /// Only since a day, such as 2026-11-01, or for so long, such as 30d.
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,
    /// List the prices that hold, each with its date and its source.
    #[arg(long, conflicts_with_all = ["session", "by", "since"])]
    pub prices: bool,
    /// Compare the counters of the budgets with the spending records.
    #[arg(long, conflicts_with_all = ["session", "by", "since", "prices"])]
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

/// What a line of `jackfield usage` is about.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, ValueEnum)]
pub enum UsageGrouping {
    /// A day, in the time zone of this machine.
    #[default]
    Day,
    /// A model.
    Model,
    /// A provider.
    Provider,
    /// A model call.
    Reply,
    /// A session.
    Session,
    /// A tool.
    Tool,
    /// A turn.
    Turn,
    /// A user: a token, with the end user behind it.
    User,
}

impl From<UsageGrouping> for SpendingGroup {
    fn from(grouping: UsageGrouping) -> Self {
        match grouping {
            UsageGrouping::Day => Self::Day,
            UsageGrouping::Model => Self::Model,
            UsageGrouping::Provider => Self::Provider,
            UsageGrouping::Reply => Self::Reply,
            UsageGrouping::Session => Self::Session,
            UsageGrouping::Tool => Self::Tool,
            UsageGrouping::Turn => Self::Turn,
            UsageGrouping::User => Self::User,
        }
    }
}

pub(super) const EXAMPLES: &str = "\
Examples:
  jackfield usage
  jackfield usage --by model --since 30d
  jackfield usage --by reply last
  jackfield usage --by tool --since 2026-11-01 --json | jq '.lines[] | select(.errors > 0)'
  jackfield usage --prices
  jackfield usage --verify

The budgets of keys, users and teams are counted in the journal; --verify compares that with the
spending records, and exits with 13 where it differs.

What is marked with ~ is an estimate, or has one in it: the provider did not count all of it.";
