//! The arguments of `jackfield demo`.

use super::{Output, TurnLimitArgs};

/// `jackfield demo`
#[derive(Clone, Debug, clap::Args)]
pub struct Demo {
    /// The question.
    #[arg(value_name = "QUESTION")]
    pub question: Vec<String>,
    /// What the turn may do.
    #[command(flatten)]
    pub bounds: TurnLimitArgs,
    /// How the answer is shown.
    #[command(flatten)]
    pub output: Output,
}

pub(super) const EXAMPLES: &str = "\
Examples:
  jackfield demo
  jackfield demo \"What is 12 * 12?\"
  jackfield demo --json";
