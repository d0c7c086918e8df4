//! The arguments of `jackfield prices`.

use std::path::PathBuf;

use clap::Subcommand;
use jiff::civil::Date;

use super::Source;

/// `jackfield prices`
#[derive(Clone, Debug, Subcommand)]
pub enum Prices {
    /// Take over list prices from LiteLLM's model_prices_and_context_window.json, or the data.json of genai-prices.
    ///
    /// They are written into prices.txt beside the configuration, and win over those that come with Jackfield.
    #[command(after_help = IMPORT)]
    Import(ImportPrices),
    /// List the models with a price: those of the providers that the configuration names.
    #[command(after_help = LIST)]
    List(ListPrices),
    /// Show what a model costs, with tiers, day and source, and where that stands.
    #[command(after_help = SHOW)]
    Show(ShowPrice),
}

/// `jackfield prices import`
#[derive(Clone, Debug, clap::Args)]
pub struct ImportPrices {
    /// The file.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The day of the file, such as 2026-11-01; today by default.
    #[arg(long, value_name = "DAY", value_parser = day)]
    pub day: Option<String>,
    /// Leave out models that are not read as they should be, each as a whole, instead of refusing the file.
    #[arg(long)]
    pub skip: bool,
    /// Where the configuration is.
    #[command(flatten)]
    pub source: Source,
}

fn day(text: &str) -> Result<String, String> {
    let day = text.parse::<Date>();
    let day = day.map_err(|_| "write a day, as in 2026-11-01".to_owned())?;
    Ok(day.to_string())
}

/// `jackfield prices list`
#[derive(Clone, Debug, clap::Args)]
pub struct ListPrices {
    /// List the models of all providers that need no configuration, too.
    #[arg(long)]
    pub all: bool,
    /// Where the configuration is.
    #[command(flatten)]
    pub source: Source,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// `jackfield prices show`
#[derive(Clone, Debug, clap::Args)]
pub struct ShowPrice {
    /// The model: an alias, or provider/model.
    #[arg(value_name = "MODEL")]
    pub model: String,
    /// Where the configuration is.
    #[command(flatten)]
    pub source: Source,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

const IMPORT: &str = "\
Examples:
  jackfield prices import model_prices_and_context_window.json
  jackfield prices import data.json --day 2026-11-09 --skip";

const LIST: &str = "\
Examples:
  jackfield prices list
  jackfield prices list --all --json | jq '.[] | select(.retires)'";

const SHOW: &str = "\
Examples:
  jackfield prices show claude/claude-opus-5-5
  jackfield prices show openai/gpt-6-sol --json";

pub(super) const EXAMPLES: &str = "\
Prices under [prices] in a configuration win over imported ones, and those over the list that comes
with Jackfield. Ollama and other servers on this machine and in its network cost nothing.

Examples:
  jackfield prices list
  jackfield prices list --all --json | jq '.[] | select(.retires)'
  jackfield prices show claude/claude-opus-5-5
  jackfield prices import model_prices_and_context_window.json";
