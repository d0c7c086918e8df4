//! The arguments of `jackfield models` and `jackfield providers`.

use super::Source;

/// `jackfield models`
#[derive(Clone, Debug, clap::Args)]
pub struct ModelsArgs {
    /// The providers; all that are configured, that a model is named of, or that have a key if none is named.
    #[arg(value_name = "PROVIDER")]
    pub providers: Vec<String>,
    /// Where the configuration is.
    #[command(flatten)]
    pub source: Source,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// `jackfield providers`
#[derive(Clone, Debug, clap::Args)]
pub struct Providers {
    /// Show also models without known details.
    #[arg(long)]
    pub all: bool,
    /// Do not ask them whether they can be reached.
    #[arg(long)]
    pub offline: bool,
    /// Where the configuration is.
    #[command(flatten)]
    pub source: Source,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

pub(super) const MODELS_EXAMPLES: &str = "\
Examples:
  jackfield models
  jackfield models ollama openai
  jackfield models --json | jq -r '.[].models[].id'

A provider that cannot be asked is told of, and stops no other; the exit code is 4 if none could be asked.";

pub(super) const PROVIDERS_EXAMPLES: &str = "\
Examples:
  jackfield providers
  jackfield providers --all --offline
  jackfield providers --json | jq -r '.[] | select(.reachable) | .name'";
