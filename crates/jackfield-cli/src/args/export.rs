//! The arguments of `jackfield sessions export`.

use std::path::PathBuf;

use clap::ValueEnum;

use super::Source;

/// `jackfield sessions export`
#[derive(Clone, Debug, clap::Args)]
pub struct Export {
    /// The session: an id, the beginning of one, or `last`.
    #[arg(value_name = "ID")]
    pub session: String,
    /// As what: json, one document with everything; or markdown, to be read.
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "FORMAT",
        hide_possible_values = true
    )]
    pub format: ExportFormat,
    /// Write its facts, which can be replayed and made a test: everything that was said and done, in the
    /// clear.
    #[arg(long, conflicts_with = "format")]
    pub facts: bool,
    /// Print JSON, which is what it prints if no other format is named.
    #[arg(long, conflicts_with_all = ["format", "facts"])]
    pub json: bool,
    /// Write this file, which only you can read, instead of standard output, which is `-`.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Leave out what tools were given and gave back, files, reasoning, and what looks like a key.
    #[arg(long)]
    pub redact: bool,
    /// Where the configuration is.
    #[command(flatten)]
    pub source: Source,
}

/// As what a session is exported.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, ValueEnum)]
pub enum ExportFormat {
    /// One JSON document.
    #[default]
    Json,
    /// Markdown.
    Markdown,
}

pub(super) const EXAMPLES: &str = "\
Examples:
  jackfield sessions export k3f9 > session.json
  jackfield sessions export k3f9 --format markdown --output session.md
  jackfield sessions export k3f9 --redact | jq '.turns[].calls[] | {name, status}'
  jackfield sessions export k3f9 --facts --output bug.jsonl

With --redact, what people and models said stays, but for what looks like a key: read it before \
you hand it on.";
