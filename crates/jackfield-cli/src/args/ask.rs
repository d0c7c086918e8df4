//! The arguments of `jackfield ask`.

use std::path::PathBuf;

use super::{ConfigArgs, Output, SessionArgs, TurnLimitArgs};

/// `jackfield ask`
#[derive(Clone, Debug, clap::Args)]
pub struct AskArgs {
    /// The question; what is piped in comes after it.
    ///
    /// Standard input is read if it is a pipe or a file; `-` waits for it in any case.
    #[arg(value_name = "QUESTION")]
    pub question: Vec<String>,
    /// Send this text, PDF or image along.
    ///
    /// It may be given several times.
    #[arg(short, long, value_name = "FILE")]
    pub file: Vec<PathBuf>,
    /// Send this image along.
    ///
    /// PNG, JPEG, GIF or WebP; it may be given several times.
    #[arg(short, long, value_name = "FILE", hide_short_help = true)]
    pub image: Vec<PathBuf>,
    /// The model: an alias, an assistant, or provider/model.
    #[arg(short, long)]
    pub model: Option<String>,
    /// Answer as JSON of this JSON Schema.
    ///
    /// The file has at most 64 KiB.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub schema: Option<PathBuf>,
    /// The session; where there is none of this id, it begins.
    #[command(flatten)]
    pub session: SessionArgs,
    /// The system prompt, in place of the configured one; "" for none.
    #[arg(long, value_name = "TEXT", hide_short_help = true)]
    pub system: Option<String>,
    /// Record this tag, by which `usage` sums; its name is one of `tags.names`.
    ///
    /// It may be given several times.
    #[arg(long = "tag", value_name = "NAME=VALUE", hide_short_help = true)]
    pub tags: Vec<String>,
    /// Approve every call that is not denied.
    #[arg(short, long)]
    pub yes: bool,
    /// What the turn may do.
    #[command(flatten)]
    pub bounds: TurnLimitArgs,
    /// Where the configuration is, and what it says about tools.
    #[command(flatten)]
    pub setup: ConfigArgs,
    /// How the answer is shown.
    #[command(flatten)]
    pub output: Output,
}

pub(super) const SHORT_EXAMPLES: &str = "\
Examples:
  jackfield ask \"What is 15% of 2500?\"
  git diff | jackfield ask \"What does this change?\"
  jackfield ask -c \"And in one sentence?\"";

pub(super) const EXAMPLES: &str = "\
Examples:
  jackfield ask \"What is 15% of 2500?\"
  jackfield ask -m claude/claude-haiku-5-5 \"What time is it in Tokyo?\"
  git diff | jackfield ask \"What does this change?\"
  jackfield ask --file notes.md --image plan.png \"Does the plan follow the notes?\"
  jackfield ask --file bill.pdf --schema bill.schema.json > bill.json
  jackfield ask - < question.txt > answer.txt
  jackfield ask --strict=quality \"Sum this up as JSON.\" < report.txt
  jackfield ask --output json \"What is 17 * 4?\" | jq '.calls[].name'
  jackfield ask --session trip \"I am in Tokyo.\"
  jackfield ask --session trip \"What time is it here?\"
  jackfield ask -c \"And in Tokyo?\"
  jackfield ask --json \"What is 17 * 4?\" | jq -r 'select(.event == \"turn_ended\") | .answer'

The answer goes to standard output; calls, notes and use go to standard error.";
