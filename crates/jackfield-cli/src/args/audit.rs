//! The arguments of `jackfield audit`.

use clap::ValueEnum;

use super::Source;

/// `jackfield audit`
#[derive(Clone, Debug, clap::Args)]
pub struct Audit {
    /// Only this session: an id, the beginning of one, or `last`.
    #[arg(value_name = "ID")]
    pub session: Option<String>,
    /// Only calls of these tools, such as 'files/*'.
    #[arg(long, value_name = "PATTERN")]
    pub tool: Option<String>,
    /// Only decisions by a name with this text; `policy` is the rules.
    #[arg(long, value_name = "NAME")]
    pub who: Option<String>,
    /// Only since a day, such as 2026-11-01, or for so long, such as 30d.
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,
    /// Only what ended so: ran, error, denied, not-run, cancelled, expired, unknown, open, cached or late.
    #[arg(long, value_enum, value_name = "HOW", hide_possible_values = true)]
    pub outcome: Option<AuditOutcome>,
    /// At most this many, the newest.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    pub most: u32,
    /// Where the configuration is.
    #[command(flatten)]
    pub source: Source,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum AuditOutcome {
    /// The result is that of an equal call.
    Cached,
    /// The turn was cancelled.
    Cancelled,
    /// A person or a rule said no.
    Denied,
    /// The tool answered with an error.
    Error,
    /// A question of it expired.
    Expired,
    /// Something came after it was over.
    Late,
    /// It was not run, for a reason that its outcome names.
    NotRun,
    /// It is not over.
    Open,
    /// The tool answered.
    Ran,
    /// It is unknown whether it took effect.
    Unknown,
}

pub(super) const EXAMPLES: &str = "\
Examples:
  jackfield audit
  jackfield audit last --outcome unknown
  jackfield audit --tool 'files/*' --since 7d
  jackfield audit --who policy --outcome denied
  jackfield audit --json --most 1000 | jq '.[] | select(.arguments_edited)'";
